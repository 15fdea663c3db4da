"""Exponential families as curved spaces: metric, connections, curvature, curves, distances.

A family is its log-partition ``psi``: ``p(x; theta) = exp(theta . F(x) + k(x) - psi(theta))``. The
second derivatives of ``psi`` are the Fisher metric, the third ones the skewness tensor, and the
alpha-connections and their curvature follow from the two.
"""

from weighbridge.manifolds._bias import GeometricBias, geometric_bias
from weighbridge.manifolds._categorical import Categorical
from weighbridge.manifolds._divergences import (
    bhattacharyya,
    d2,
    divergence,
    kullback_leibler,
    renyi_divergence,
)
from weighbridge.manifolds._exponential import Exponential
from weighbridge.manifolds._exponential_family import ExponentialFamily
from weighbridge.manifolds._gamma import Gamma
from weighbridge.manifolds._geodesics import fisher_rao_distance, geodesic, geodesic_velocity
from weighbridge.manifolds._interpolation import (
    InterpolatedDensity,
    ProjectedCurve,
    interpolate_densities,
    project,
    projected_curve,
)
from weighbridge.manifolds._multivariate_normal import MultivariateNormal
from weighbridge.manifolds._normal import Normal
from weighbridge.manifolds._poisson import Poisson
from weighbridge.manifolds._von_mises import VonMises

__all__ = [
    "Categorical",
    "Exponential",
    "ExponentialFamily",
    "Gamma",
    "GeometricBias",
    "InterpolatedDensity",
    "MultivariateNormal",
    "Normal",
    "Poisson",
    "ProjectedCurve",
    "VonMises",
    "bhattacharyya",
    "d2",
    "divergence",
    "fisher_rao_distance",
    "geodesic",
    "geodesic_velocity",
    "geometric_bias",
    "interpolate_densities",
    "kullback_leibler",
    "project",
    "projected_curve",
    "renyi_divergence",
]
