"""Connections and curvature of exponential families."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import loggamma

from own_families import InverseGaussian
from weighbridge.manifolds import (
    Categorical,
    Exponential,
    ExponentialFamily,
    Gamma,
    MultivariateNormal,
    Normal,
    Poisson,
    VonMises,
)

ALPHAS = [-1.0, -0.4, 0.0, 0.5, 1.0, 3.0]
COVARIANCE = [[1.0, 0.6], [0.6, 2.0]]


class Beta(ExponentialFamily):
    dim = 2

    def log_partition(self, theta):
        return loggamma(theta).sum() - loggamma(theta.sum())

    def in_domain(self, theta):
        return bool(np.all(theta > 0))


class Trinomial(ExponentialFamily):
    dim = 2
    size = 5

    def log_partition(self, theta):
        return self.size * np.log(1 + np.exp(theta[0]) + np.exp(theta[1]))


class Dependent(ExponentialFamily):
    dim = 2

    def log_partition(self, theta):
        return (theta[0] + theta[1]) ** 2


CASES = [
    (Normal(), Normal().theta(mean=1.0, sd=0.5)),
    (MultivariateNormal(2), MultivariateNormal(2).theta([0.3, -1.0], COVARIANCE)),
    (Categorical(4), Categorical(4).theta([0.4, 0.1, 0.3, 0.2])),
    (Gamma(), Gamma().theta(shape=1.5, rate=0.5)),
    (VonMises(), VonMises().theta(mean=0.5, concentration=2.0)),
    (InverseGaussian(), np.array([-0.3, -0.8])),
    (Beta(), np.array([0.6, 2.5])),
    (Trinomial(), np.array([0.2, -0.7])),
]
LINES = [
    (Poisson(), Poisson().theta(rate=3.0)),
    (Exponential(), Exponential().theta(rate=0.3)),
    (Categorical(2), Categorical(2).theta([0.3, 0.7])),
]
each = pytest.mark.parametrize(
    ("family", "theta"), CASES, ids=[type(family).__name__ for family, _ in CASES]
)


def surface_curvature(psi, point):
    """Scalar curvature of a two-dimensional Hessian metric, from a determinant, in 40 digits.

    Twice the Gaussian curvature ``-det / (4 det(g)^2)``, the rows of the determinant being
    (psi_11, psi_12, psi_22) and its two derivatives.
    """
    with mpmath.workdps(40):
        point = tuple(mpmath.mpf(float(value)) for value in point)
        rows = [[(2, 0), (1, 1), (0, 2)], [(3, 0), (2, 1), (1, 2)], [(2, 1), (1, 2), (0, 3)]]
        matrix = mpmath.matrix([[mpmath.diff(psi, point, order) for order in row] for row in rows])
        area = matrix[0, 0] * matrix[0, 2] - matrix[0, 1] ** 2
        return float(-mpmath.det(matrix) / (2 * area**2))


def gamma_psi(a, b):
    return mpmath.loggamma(a) - a * mpmath.log(-b)


def von_mises_psi(a, b):
    return mpmath.log(mpmath.besseli(0, mpmath.sqrt(a**2 + b**2)))


def inverse_gaussian_psi(a, b):
    return -2 * mpmath.sqrt(a * b) - mpmath.log(-2 * b) / 2


def beta_psi(a, b):
    return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)


# The known values, times 1 - alpha^2.


@pytest.mark.parametrize("alpha", ALPHAS)
@settings(deadline=None, max_examples=20)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3))
def test_normals_have_scalar_curvature_minus_one(alpha, mean, sd):
    family = Normal()
    curvature = family.scalar_curvature(family.theta(mean, sd), alpha)
    assert curvature == pytest.approx(-(1 - alpha**2), rel=1e-12, abs=0)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_multivariate_normals(d, alpha):
    # -d (d + 1)^2 / 4 at any mean and covariance, by the frame and by the coordinates
    rng = np.random.default_rng(d)
    root = rng.standard_normal((d, d))
    family = MultivariateNormal(d)
    theta = family.theta(rng.standard_normal(d), root @ root.T + np.eye(d))
    expected = -(1 - alpha**2) * d * (d + 1) ** 2 / 4
    assert family.scalar_curvature(theta, alpha) == pytest.approx(expected, rel=1e-12)
    contracted = np.sum(np.linalg.inv(family.metric(theta)) * family.ricci(theta, alpha))
    assert contracted == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("alpha", ALPHAS)
@settings(deadline=None, max_examples=20)
@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_the_simplex_is_a_sphere_of_radius_two(alpha, k, seed):
    # (k - 1)(k - 2)/4, all sectional curvatures 1/4, and Ricci (k - 2)/4 times the metric
    rng = np.random.default_rng(seed)
    family = Categorical(k)
    theta = family.theta(rng.dirichlet(np.full(k, 2.0)) * (1 - 1e-3) + 1e-3 / k)
    factor = 1 - alpha**2
    expected = factor * (k - 1) * (k - 2) / 4
    assert family.scalar_curvature(theta, alpha) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    ricci, metric = family.ricci(theta, alpha), family.metric(theta)
    np.testing.assert_allclose(ricci, factor * (k - 2) / 4 * metric, atol=1e-10)
    if k > 2:
        u, v = rng.standard_normal((2, k - 1))
        sectional = family.sectional_curvature(theta, u, v, alpha)
        assert sectional == pytest.approx(factor / 4, rel=1e-8, abs=1e-12)


def test_the_simplex_near_a_corner():
    # cells of 1e-8: whichever is the base, no digit is lost
    for probabilities in ([1e-8, 1 - 2e-8, 1e-8], [0.5, 0.5 - 1e-8, 1e-8]):
        family = Categorical(3)
        theta = family.theta(probabilities)
        assert family.scalar_curvature(theta, 0) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(
    ("family", "usual", "psi", "printed"),
    [
        (Gamma(), {"shape": 1.0, "rate": 1.0}, gamma_psi, -0.9126074),
        (Gamma(), {"shape": 2.0, "rate": 7.0}, gamma_psi, -0.9717131),
        (VonMises(), {"mean": 0.3, "concentration": 1.0}, von_mises_psi, -0.1241865),
        (VonMises(), {"mean": -2.0, "concentration": 5.0}, von_mises_psi, -1.0197161),
        (VonMises(), {"mean": 1.0, "concentration": 0.01}, von_mises_psi, None),
        (VonMises(), {"mean": 1.0, "concentration": 100.0}, von_mises_psi, None),
    ],
)
def test_gamma_and_von_mises(family, usual, psi, printed, alpha):
    theta = family.theta(**usual)
    expected = surface_curvature(psi, theta)
    if printed is not None:
        assert expected == pytest.approx(printed, abs=1e-7)
    curvature = family.scalar_curvature(theta, alpha)
    assert curvature == pytest.approx((1 - alpha**2) * expected, rel=1e-8, abs=0)


def test_the_uniform_distribution_on_the_circle_is_a_flat_point():
    assert VonMises().scalar_curvature([0.0, 0.0], alpha=0) == 0


@pytest.mark.parametrize(
    ("family", "psi", "theta"),
    [
        (InverseGaussian(), inverse_gaussian_psi, [-0.3, -0.8]),
        (InverseGaussian(), inverse_gaussian_psi, [-4.0, -0.02]),
        (Beta(), beta_psi, [0.6, 2.5]),
        (Beta(), beta_psi, [30.0, 11.0]),
    ],
)
def test_a_family_of_the_user(family, psi, theta):
    expected = surface_curvature(psi, theta)
    assert family.scalar_curvature(theta, 0) == pytest.approx(expected, rel=1e-7)
    assert family.scalar_curvature(theta, 3) == pytest.approx(-8 * expected, rel=1e-7)


def test_n_draws_divide_the_curvature_by_n():
    # psi of n independent draws is n psi: a sphere of radius 2 sqrt(n)
    assert Trinomial().scalar_curvature([0.2, -0.7], 0) == pytest.approx(0.5 / 5, rel=1e-7)


# Laws of every family; those of the user have derivatives good to ten digits.


@pytest.mark.parametrize("alpha", ALPHAS)
@each
def test_contractions_agree(family, theta, alpha):
    # g^il g^jk R_ijkl, g^jk Ric_jk and (1 - alpha^2)/4 (|T|^2 - |tau|^2) are one number
    inverse = np.linalg.inv(family.metric(theta))
    curvature, ricci = family.curvature(theta, alpha), family.ricci(theta, alpha)
    np.testing.assert_allclose(
        np.einsum("ijkl,il->jk", curvature, inverse), ricci, rtol=1e-7, atol=1e-8
    )
    skewness = family.skewness(theta)
    tau = np.einsum("abc,bc->a", skewness, inverse)
    length = np.einsum(
        "abc,ijk,ai,bj,ck->", skewness, skewness, inverse, inverse, inverse, optimize=True
    )
    expected = (1 - alpha**2) / 4 * (length - tau @ inverse @ tau)
    assert np.sum(ricci * inverse) == pytest.approx(expected, rel=1e-7, abs=1e-10)
    assert family.scalar_curvature(theta, alpha) == pytest.approx(expected, rel=1e-7, abs=1e-10)


@each
def test_symmetries_and_first_bianchi_identity(family, theta):
    curvature = family.curvature(theta, 0)
    size = np.abs(curvature).max()
    for other in (
        -curvature.transpose(1, 0, 2, 3),
        -curvature.transpose(0, 1, 3, 2),
        curvature.transpose(2, 3, 0, 1),
    ):
        np.testing.assert_allclose(curvature, other, atol=1e-12 * size)
    cyclic = curvature + curvature.transpose(1, 2, 0, 3) + curvature.transpose(2, 0, 1, 3)
    np.testing.assert_allclose(cyclic, 0, atol=1e-12 * size)


@pytest.mark.parametrize("alpha", [0.5, 3.0])
@each
def test_duality(family, theta, alpha):
    # d_k g_ij = Gamma^(alpha)_{ki,j} + Gamma^(-alpha)_{kj,i}, and
    # g(R^(alpha)(X, Y) Z, W) = -g(R^(-alpha)(X, Y) W, Z)
    both = family.connection(theta, alpha) + family.connection(theta, -alpha).transpose(0, 2, 1)
    np.testing.assert_allclose(both, family.skewness(theta), rtol=1e-12, atol=1e-12)
    here, there = family.curvature(theta, alpha), family.curvature(theta, -alpha)
    size = np.abs(here).max()
    np.testing.assert_allclose(here, -there.transpose(0, 1, 3, 2), atol=1e-12 * size)


@pytest.mark.parametrize("alpha", [-0.4, 0.0, 3.0])
@each
def test_curvature_by_its_definition(family, theta, alpha):
    # R^l_ijk = d_i Gamma^l_jk - d_j Gamma^l_ik + Gamma^m_jk Gamma^l_im - Gamma^m_ik Gamma^l_jm,
    # the derivatives by differences of fourth order, whose error at this step is below 1e-8
    def connection(point):
        return family.connection(point, alpha, raised=True)

    slope, gamma = _slope(connection, theta), connection(theta)
    product = np.einsum("jkm,iml->ijkl", gamma, gamma)
    mixed = slope + product
    tensor = (mixed - mixed.transpose(1, 0, 2, 3)) @ family.metric(theta)
    size = np.abs(family.curvature(theta, 0)).max()
    np.testing.assert_allclose(family.curvature(theta, alpha), tensor, atol=1e-6 * size)


def _slope(function, theta):
    """Derivatives along the coordinates, by differences of fourth order."""
    slopes = []
    for step in np.diag(2e-3 * np.abs(theta)):
        near = function(theta + step) - function(theta - step)
        far = function(theta + 2 * step) - function(theta - 2 * step)
        slopes.append((8 * near - far) / (12 * step.max()))
    return np.array(slopes)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, -1.0), (-1.0, 1.0), (3.0, 0.4), (-0.5, -2.0)])
@each
def test_relative_curvature_by_its_definition(family, theta, alpha, beta):
    # [D^(a)_i, D^(b)_j] d_k from the Christoffel symbols of both connections alone
    def connection(point, which):
        return family.connection(point, which, raised=True)

    a, b = connection(theta, alpha), connection(theta, beta)
    forth = _slope(lambda point: connection(point, beta), theta)
    forth = forth + np.einsum("jkm,iml->ijkl", b, a)
    back = _slope(lambda point: connection(point, alpha), theta)
    back = back + np.einsum("jkm,iml->ijkl", a, b)
    want = (forth - back.transpose(1, 0, 2, 3)) @ family.metric(theta)
    size = np.abs(want).max()
    got = family.relative_curvature(theta, alpha, beta)
    np.testing.assert_allclose(got, want, atol=1e-6 * size)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, -1.0), (3.0, 0.4), (-0.5, 2.0)])
@each
def test_identities_of_the_relative_curvature(family, theta, alpha, beta):
    # equations 64 and 58 of the paper, with R* = R = 0 of a dually flat family
    def relative(a, b):
        return family.relative_curvature(theta, a, b)

    k = family.difference_tensor(theta)
    twice = np.einsum("jkm,iml->ijkl", k, k) @ family.metric(theta)  # K(X, K(Y, Z))
    size = np.abs(twice).max()
    both = family.curvature(theta, alpha) + family.curvature(theta, beta)
    np.testing.assert_allclose(
        both - relative(alpha, beta) - relative(beta, alpha),
        (alpha - beta) ** 2 / 4 * (twice - twice.transpose(1, 0, 2, 3)),
        atol=1e-8 * size,
    )
    parts = (1 + alpha) * (1 - beta) * relative(1, -1) + (1 - alpha) * (1 + beta) * relative(-1, 1)
    np.testing.assert_allclose(4 * relative(alpha, beta), parts, atol=1e-7 * size)
    # equations 68 and 69: Lambda(X, Y, Z) = K(Y, K(X, Z)) - K(X, K(Y, Z)), four times R^(0)
    kernel = twice.transpose(1, 0, 2, 3) - twice
    np.testing.assert_allclose(4 * family.curvature(theta, 0), kernel, atol=1e-8 * size)
    for same in (alpha, beta):
        np.testing.assert_allclose(
            relative(same, same), (1 - same**2) / 4 * kernel, atol=1e-8 * size
        )


@each
def test_difference_tensor_is_the_difference_of_two_connections(family, theta):
    def connection(alpha):
        return family.connection(theta, alpha, raised=True)

    for alpha, beta in [(-1.0, 1.0), (0.5, 3.0)]:
        want = connection(beta) - connection(alpha)
        got = family.difference_tensor(theta, alpha, beta)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    lowered = family.difference_tensor(theta) @ family.metric(theta)
    np.testing.assert_allclose(lowered, -family.skewness(theta), rtol=1e-7, atol=1e-7)


@each
def test_raised_connection_lowers_to_the_connection(family, theta):
    raised = family.connection(theta, 0.3, raised=True)
    np.testing.assert_allclose(
        raised @ family.metric(theta), family.connection(theta, 0.3), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("alpha", [-1.0, 1.0])
@each
def test_the_exponential_and_the_mixture_connection_are_flat(family, theta, alpha):
    assert not family.curvature(theta, alpha).any()
    assert not family.ricci(theta, alpha).any()
    assert family.scalar_curvature(theta, alpha) == 0
    u, v = np.eye(family.dim)[:2]
    assert family.sectional_curvature(theta, u, v, alpha) == 0
    if alpha == 1:
        assert not family.connection(theta, alpha).any()


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("family", "theta"), LINES)
def test_lines_are_flat(family, theta, alpha):
    assert family.scalar_curvature(theta, alpha) == 0
    assert not family.curvature(theta, alpha).any()
    assert family.ricci(theta, alpha) == pytest.approx(0, abs=1e-12)


@each
def test_sectional_curvatures_of_a_frame_add_up_to_the_scalar(family, theta):
    # over ordered pairs of an orthonormal frame, sum K = scal; and K is that of the tensor
    frame = np.linalg.inv(np.linalg.cholesky(family.metric(theta)))
    tensor, total = family.curvature(theta, 0), 0.0
    for a in range(family.dim):
        for b in set(range(family.dim)) - {a}:
            u, v = frame[a], frame[b]
            sectional = family.sectional_curvature(theta, u, v, 0)
            expected = np.einsum("ijkl,i,j,k,l->", tensor, u, v, v, u)
            assert sectional == pytest.approx(expected, rel=1e-8, abs=1e-9)
            total += sectional
    assert total == pytest.approx(family.scalar_curvature(theta, 0), rel=1e-7)


@each
def test_sectional_curvature_belongs_to_the_plane(family, theta):
    u, v = np.random.default_rng(0).standard_normal((2, family.dim))
    first = family.sectional_curvature(theta, u, v, 3)
    second = family.sectional_curvature(theta, 5 * u - v, 0.3 * v + u, 3)
    assert first == pytest.approx(second, rel=1e-8, abs=1e-9)
    assert first == pytest.approx(-8 * family.sectional_curvature(theta, u, v, 0), rel=1e-12)


@pytest.mark.parametrize("v", [[2.0, -4.0], [0.0, 0.0], [1 + 1e-9, -2.0]])
def test_parallel_vectors_span_no_plane(v):
    with pytest.raises(ValueError, match=r"Got u=\[1\.0, -2\.0\].*do not span a plane"):
        Normal().sectional_curvature([0.0, -0.5], [1.0, -2.0], v, 0)
    with pytest.raises(ValueError, match="do not span a plane"):
        Normal().sectional_curvature([0.0, -0.5], [0.0, 0.0], [1.0, 0.0], 0)


def test_vectors_have_the_dimension_of_the_family():
    with pytest.raises(ValueError, match=r"Got u=\[1\.0\], but Normal\(\) needs 2"):
        Normal().sectional_curvature([0.0, -0.5], [1.0], [0.0, 1.0], 0)


@pytest.mark.parametrize("alpha", [np.nan, np.inf])
def test_alpha_is_finite(alpha):
    for method in (Normal().connection, Normal().scalar_curvature, Normal().curvature):
        with pytest.raises(ValueError, match="Got alpha="):
            method([0.0, -0.5], alpha)


def test_dependent_statistics_have_no_metric():
    with pytest.raises(ArithmeticError, match="linearly dependent"):
        Dependent().scalar_curvature([1.0, 2.0], 0)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="Got theta="):
        Normal().scalar_curvature([0.0, 1.0], alpha=1)


@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (1e6, 1.0), (-1e8, 1.0), (1e4, 1e-4)])
def test_tensors_keep_their_digits_at_large_means(mean, sd, alpha):
    # Ricci is -(1 - alpha^2)/2 times the metric, R_1221 is that times the determinant 2 sd^6, and
    # so is the sectional curvature; a factorisation of the metric would lose sd beside the mean
    family, half = Normal(), -(1 - alpha**2) / 2
    theta = family.theta(mean, sd)
    np.testing.assert_allclose(family.ricci(theta, alpha), half * family.metric(theta), rtol=1e-12)
    area = 2 * sd**6
    assert family.curvature(theta, alpha)[0, 1, 1, 0] == pytest.approx(half * area, rel=1e-12)
    # a plane of vectors that are not parallel in the metric
    frame = np.array([[1 / sd, 0.0], [-np.sqrt(2) * mean / sd**2, 1 / np.sqrt(2) / sd**2]])
    sectional = family.sectional_curvature(theta, *frame, alpha)
    assert sectional == pytest.approx(half, rel=1e-6)


def test_raised_connection_at_a_large_mean():
    # Gamma^k_11 of alpha = 0 is T_11l g^lk / 2 = (-mean, 1/2) for sd = 1, by hand
    raised = Normal().connection(Normal().theta(1e8, 1.0), 0, raised=True)
    np.testing.assert_allclose(raised[0, 0], [-1e8, 0.5], rtol=1e-12)


def test_vectors_of_normals_at_large_means():
    # one coordinate is far from 0: the trace of Ricci in a frame is still -4.5
    family = MultivariateNormal(2)
    theta, origin = (family.theta([mean, 1.0], COVARIANCE) for mean in (1e6, 0.0))
    # x -> x - 1e6 is an isometry: a linear map of F, and of all tensors with it
    shift = np.eye(5)
    shift[2, 0], shift[3, 1] = 2e6, 1e6
    moved = shift @ family.ricci(origin, 0) @ shift.T
    np.testing.assert_allclose(family.ricci(theta, 0), moved, rtol=1e-8)


@pytest.mark.parametrize("shape", [1e-3, 19.9, 20.0, 20.1, 1e3, 1e6, 1e9, 1e11, 1e14])
def test_gamma_at_every_shape(shape):
    # (psi1 + nu psi2) / (2 (nu psi1 - 1)^2) with 80 digits
    with mpmath.workdps(80):
        nu = mpmath.mpf(shape)
        trigamma, tetragamma = mpmath.psi(1, nu), mpmath.psi(2, nu)
        expected = float((trigamma + nu * tetragamma) / (2 * (nu * trigamma - 1) ** 2))
    family = Gamma()
    theta = family.theta(shape, 3.0)
    assert family.scalar_curvature(theta, 0) == pytest.approx(expected, rel=1e-12)
    # in two dimensions Ricci is half the scalar curvature times the metric
    np.testing.assert_allclose(
        family.ricci(theta, 0), expected / 2 * family.metric(theta), rtol=1e-12
    )
