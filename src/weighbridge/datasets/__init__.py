"""Simulators of covariate shift with their true density ratios, and benchmark sets."""

from weighbridge.datasets._benchmarks import benchmark_names, fetch_benchmark
from weighbridge.datasets._clinic import make_clinic
from weighbridge.datasets._regressions import (
    LineProblem,
    make_cubic,
    make_gaussian_shift,
    make_quadratic,
)
from weighbridge.datasets._split import split_by_projection

__all__ = [
    "LineProblem",
    "benchmark_names",
    "fetch_benchmark",
    "make_clinic",
    "make_cubic",
    "make_gaussian_shift",
    "make_quadratic",
    "split_by_projection",
]
