"""Networks: gradients of the log weight, weights of batches, dynamic weights, long tails."""

import copy
import io
import math
import pickle
import re
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_digits

import exact
from weighbridge import Geodesic, geodesic
from weighbridge.geodesic import log_weight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from weighbridge.torch import (  # noqa: E402
    Beyond,
    DynamicWeights,
    PolynomialLoss,
    batch_weights,
)
from weighbridge.torch._batch import (  # noqa: E402
    kernels,
    one_for_each_row,
    project,
    without_reduction,
)
from weighbridge.torch._dynamic import plain_log_weight  # noqa: E402

F64 = torch.float64
DIVERGENCES = ["kmm", "kl", "least_squares", "gaussian"]
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


# ------------------------------------------------------------------ gradients of the log weight


def _gradients(*points):
    tensors = [torch.tensor(each, dtype=F64, requires_grad=True) for each in points]
    log_weight(*tensors).sum().backward()
    return [each.grad.numpy() for each in tensors]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_autograd_is_the_closed_derivative_on_the_whole_grid(place):
    grid = exact.hard_grid()
    closed = (
        geodesic.log_weight_d_log_ratio,
        geodesic.log_weight_d_lam,
        geodesic.log_weight_d_alpha,
    )[place](*grid)
    finite = np.isfinite(closed)
    got = _gradients(*grid)[place]
    np.testing.assert_allclose(got[finite], closed[finite], rtol=1e-10, atol=1e-290)


def test_broadcast_inputs_get_gradients_of_their_own_shape_and_type():
    s = torch.randn(4, 3, dtype=F64, requires_grad=True)
    lam = torch.tensor(0.4, requires_grad=True)
    alpha = torch.tensor([[1.0], [3.0], [-1.0], [0.0]], dtype=F64, requires_grad=True)
    out = log_weight(s, lam, alpha)
    assert out.dtype == F64
    out.sum().backward()
    for each in (s, lam, alpha):
        assert (each.grad.shape, each.grad.dtype) == (each.shape, each.dtype)
    plain = [each.detach() for each in (s, lam, alpha)]
    total = geodesic.log_weight_d_lam(*plain).sum()
    assert float(lam.grad) == pytest.approx(float(total), rel=1e-6)
    total = geodesic.log_weight_d_alpha(*plain).sum(1, keepdims=True)
    np.testing.assert_allclose(alpha.grad, total)


def test_one_gradient_among_plain_numbers_without_a_warning_of_torch():
    s = torch.tensor([-1.0, 0.5], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = log_weight(s, 0.5, 3)
        assert out.dtype == torch.float32
        out.sum().backward()
        with torch.no_grad():
            assert not log_weight(s, 0.5, 3).requires_grad
    want = geodesic.log_weight_d_log_ratio([-1.0, 0.5], 0.5, 3)
    np.testing.assert_allclose(s.grad.numpy(), want, rtol=1e-6)
    assert not log_weight(s.detach(), 0.5, 3).requires_grad


def test_a_ratio_of_zero_does_not_spoil_the_gradient_of_the_weights():
    # d log w / d lam is -inf there, while the weight 0 does not move
    lam = torch.tensor(0.5, dtype=F64, requires_grad=True)
    torch.exp(log_weight(torch.tensor([-math.inf, 1.0], dtype=F64), lam, 1.0)).sum().backward()
    assert float(lam.grad) == pytest.approx(math.exp(0.5))


def test_errors_of_the_log_weight_are_the_same_with_a_gradient():
    s = torch.zeros(2, requires_grad=True)
    with pytest.raises(ValueError, match=r"lam must lie in \[0, 1\]"):
        log_weight(s, 2.0, 1.0)
    with pytest.raises(TypeError, match="two libraries cannot be mixed"):
        log_weight(s, np.array([0.5]), 1.0)


def test_a_second_derivative_is_refused_by_torch():
    s = torch.tensor([0.3], dtype=F64, requires_grad=True)
    (first,) = torch.autograd.grad(log_weight(s, 0.5, 3.0).sum(), s, create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(first.sum(), s)


def test_functions_of_torch_func_and_pickle_take_it():
    s = torch.tensor([-1.0, 0.5], dtype=F64)
    got = torch.func.grad(lambda each: log_weight(each, 0.5, 3.0).sum())(s)
    np.testing.assert_array_equal(got, geodesic.log_weight_d_log_ratio(s, 0.5, 3.0))
    assert pickle.loads(pickle.dumps(log_weight)) is log_weight


# ------------------------------------------------------------------ weights of one batch


def _samples(n=200, m=200, width=3, shift=1.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(n, width, generator=generator, dtype=F64)
    z_target = torch.randn(m, width, generator=generator, dtype=F64)
    z_target[:, : max(1, width // 3)] += shift
    return z, z_target


def _own_kernels(z, z_target):
    """The two kernels and that of the target, from their definition."""
    z, z_target = z.numpy(), z_target.numpy()
    both = np.concatenate([z, z_target])
    distance = ((both[:, None] - both[None]) ** 2).sum(-1)
    kernel = np.exp(-distance / distance.mean())
    n = len(z)
    return kernel[:n, :n], kernel[:n, n:], kernel[n:, n:]


def _squared_distance(w, among, across, among_target, ridge=0.01):
    """Twice the objective of kernel mean matching, with the constant that makes it a distance."""
    n = len(w)
    return (
        w @ among @ w / n**2 - 2 * across.mean(1) @ w / n + among_target.mean() + ridge * w @ w / n
    )


def _exact(among, across, bound, ridge=0.01):
    piqp = pytest.importorskip("piqp")
    n = len(among)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.setup(
        P=among / n**2 + ridge / n * np.eye(n), c=-across.mean(1) / n, A=np.full((1, n), 1 / n),
        b=np.ones(1), x_l=np.zeros(n), x_u=np.full(n, min(bound, 1e6)),
    )  # fmt: skip
    assert solver.solve() == piqp.PIQP_SOLVED
    return np.array(solver.result.x)


@pytest.mark.parametrize("steps", [5, 10])
@pytest.mark.parametrize("bound", [math.inf, 3.0])
@pytest.mark.parametrize("width", [1, 3, 10, 84])
def test_warm_steps_of_matching_come_within_one_per_cent_of_the_exact_programme(
    width, bound, steps
):
    z, z_target = _samples(256, 256, width)
    before = _own_kernels(*(each + 0.05 * torch.randn_like(each) for each in (z, z_target)))
    start = torch.as_tensor(_exact(*before[:2], bound))
    got = batch_weights(z, z_target, start=start, steps=steps, bound=bound).numpy()
    parts = _own_kernels(z, z_target)
    best = _squared_distance(_exact(*parts[:2], bound), *parts)
    assert _squared_distance(got, *parts) <= 1.01 * best


def test_kernels_are_gaussian_with_the_mean_squared_distance_as_width():
    z, z_target = _samples(30, 40)
    for got, want in zip(kernels(z, z_target), _own_kernels(z, z_target)[:2], strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


@pytest.mark.parametrize("bound", [1.0, 1.3, 3.0, 50.0, math.inf])
@pytest.mark.parametrize("n", [1, 2, 37])
def test_projection_is_the_nearest_point(n, bound):
    for seed in range(20):
        values = torch.randn(n, dtype=F64, generator=torch.Generator().manual_seed(seed)) * 3
        got = project(values, bound).numpy()
        low, high = -60.0, 60.0
        for _ in range(200):  # bisection for the shift at which the mean is 1
            middle = (low + high) / 2
            mean = np.clip(values.numpy() + middle, 0, bound).mean()
            low, high = (middle, high) if mean < 1 else (low, middle)
        np.testing.assert_allclose(got, np.clip(values.numpy() + high, 0, bound), atol=1e-9)


def test_many_steps_of_kl_reach_the_objective_of_kliep():
    z, z_target = _samples(60, 25, 2)
    _, across, among_target = _own_kernels(z, z_target)
    mass = across.mean(0)

    def loss(raw):  # coefficients = softmax(raw) / mass have mean 1 on the source
        share = np.exp(raw - raw.max())
        share = share / share.sum()
        value = among_target @ (share / mass)
        slope = -(among_target / value[:, None]).mean(0) / mass
        return -np.log(value).mean(), share * (slope - share @ slope)

    best = minimize(loss, np.zeros(25), jac=True, method="L-BFGS-B", options={"maxiter": 5_000})
    start = across @ (np.exp(best.x - best.x.max()) / np.exp(best.x - best.x.max()).sum() / mass)
    got = batch_weights(z, z_target, divergence="kl", steps=20_000).numpy()
    np.testing.assert_allclose(got, start, atol=0.02)
    assert np.abs(got - start).mean() < 5e-3


def test_many_steps_of_least_squares_reach_the_objective_of_ulsif():
    z, z_target = _samples(60, 25, 2)
    _, across, among_target = _own_kernels(z, z_target)
    quadratic = across.T @ across / 60 + 0.01 * np.eye(25)
    wanted = among_target.mean(0)
    best = minimize(
        lambda c: (c @ quadratic @ c / 2 - wanted @ c, quadratic @ c - wanted),
        np.ones(25), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 25,
        options={"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    want = project(torch.as_tensor(across @ best.x), math.inf).numpy()
    got = batch_weights(z, z_target, divergence="least_squares", steps=3_000).numpy()
    np.testing.assert_allclose(got, want, atol=1e-4)


@pytest.mark.parametrize("divergence", DIVERGENCES)
class TestEveryDivergence:
    @pytest.mark.parametrize("bound", [1.5, math.inf])
    def test_mean_one_bounds_type_and_no_gradient(self, divergence, bound):
        for dtype in (torch.float32, F64, torch.bfloat16):
            z, z_target = (each.to(dtype).requires_grad_() for each in _samples())
            got = batch_weights(z, z_target, divergence=divergence, bound=bound)
            assert (got.dtype, got.shape, got.requires_grad) == (dtype, (200,), False)
            digits = 1e-2 if dtype == torch.bfloat16 else 1e-6
            assert abs(float(got.double().mean()) - 1) < digits
            assert float(got.min()) >= 0
            assert float(got.max()) <= bound

    def test_the_order_of_the_rows_does_not_matter(self, divergence):
        z, z_target = _samples()
        start = torch.rand(200, dtype=F64)
        order, other = torch.randperm(200), torch.randperm(200)
        got = batch_weights(z, z_target, start=start, divergence=divergence)
        turned = batch_weights(z[order], z_target[other], start=start[order], divergence=divergence)
        torch.testing.assert_close(turned, got[order], rtol=1e-8, atol=1e-10)

    def test_neither_place_nor_unit_of_the_features_matters(self, divergence):
        z, z_target = _samples()
        got = batch_weights(z, z_target, divergence=divergence)
        moved = batch_weights(100 + 1e-3 * z, 100 + 1e-3 * z_target, divergence=divergence)
        torch.testing.assert_close(moved, got, rtol=1e-6, atol=1e-8)

    def test_equal_samples_have_weights_near_one(self, divergence):
        z, _ = _samples(300)
        got = batch_weights(z, z[torch.randperm(300)], divergence=divergence, steps=50)
        # a sum of kernels falls off where rows are few: it cannot be constant
        assert float((got - 1).abs().mean()) < (0.02 if divergence == "kmm" else 0.2)
        assert batch_weights(z[:1], z[:1], divergence=divergence).tolist() == [1.0]

    def test_rows_that_are_all_equal_have_equal_weights(self, divergence):
        z = torch.full((7, 2), 3.0)
        got = batch_weights(z, z[:4], divergence=divergence)
        torch.testing.assert_close(got, torch.ones(7))

    def test_a_known_ratio_of_normals_is_found(self, divergence):
        generator = torch.Generator().manual_seed(3)
        z = torch.randn(2_000, 1, generator=generator, dtype=F64)
        sd = 1.0 if divergence == "gaussian" else 0.9  # which knows one variance only
        z_target = 0.5 + sd * torch.randn(2_000, 1, generator=generator, dtype=F64)
        ratio = torch.exp(z**2 / 2 - (z - 0.5) ** 2 / (2 * sd**2)).ravel() / sd
        got = batch_weights(z, z_target, divergence=divergence, steps=300)
        assert float(torch.corrcoef(torch.stack([got, ratio / ratio.mean()]))[0, 1]) > 0.95
        assert float(got @ z.ravel()) / 2_000 == pytest.approx(float(z_target.mean()), abs=0.08)

    def test_one_row_far_away_spoils_nothing(self, divergence):
        z, z_target = _samples(1_500, 1_500, 1)
        z_target[0] = 1e6  # no source row feels its kernel
        got = batch_weights(z, z_target, divergence=divergence, steps=20)
        assert bool(torch.isfinite(got).all())
        assert float(got.mean()) == pytest.approx(1)

    def test_a_start_of_whole_numbers_is_a_start(self, divergence):
        z, z_target = _samples(50, 40)
        whole = batch_weights(z, z_target, start=torch.ones(50).long(), divergence=divergence)
        assert torch.equal(whole, batch_weights(z, z_target, divergence=divergence))

    def test_further_axes_are_flattened(self, divergence):
        z, z_target = _samples(50, 40, 12)
        flat = batch_weights(z, z_target, divergence=divergence)
        cubes = (z.reshape(50, 3, 4), z_target.reshape(40, 3, 4))
        assert torch.equal(batch_weights(*cubes, divergence=divergence), flat)

    def test_one_number_a_row_may_be_a_vector(self, divergence):
        z, z_target = _samples(50, 40, 1)
        flat = batch_weights(z, z_target, divergence=divergence)
        assert torch.equal(batch_weights(z[:, 0], z_target[:, 0], divergence=divergence), flat)


Z = torch.zeros(4, 2)


@pytest.mark.parametrize(
    ("inputs", "options", "error", "said"),
    [
        (
            (np.zeros((4, 2)), Z),
            {},
            TypeError,
            r"z_source of type ndarray, float64.*as_tensor\(z_source\)",
        ),
        ((Z, [[1.0]]), {}, TypeError, "z_target of type list"),
        ((Z.long(), Z), {}, TypeError, r"torch.int64, but expected a tensor of floats"),
        ((Z, Z.double()), {}, TypeError, r"torch.float64; make them alike: z_target.to\(z_source"),
        ((Z, Z.to("meta")), {}, TypeError, "z_target on meta"),
        (
            (Z, Z[:, :1]),
            {},
            ValueError,
            r"\(4, 2\) and z_target of \(4, 1\); both need",
        ),
        ((Z[:0], Z), {}, ValueError, r"z_source of shape \(0, 2\), but expected some rows"),
        ((Z, Z[:0]), {}, ValueError, r"z_target of shape \(0, 2\)"),
        ((Z, Z.sum()), {}, ValueError, r"z_target of shape \(\)"),
        ((Z[:, :0], Z[:, :0]), {}, ValueError, r"z_source of shape \(4, 0\)"),
        (
            (Z, Z),
            {"start": torch.ones(3)},
            ValueError,
            r"start of shape \(3,\).*of the 4 rows",
        ),
        ((Z, Z), {"start": torch.ones(4, device="meta")}, ValueError, "on meta.*on cpu"),
        ((Z, Z), {"start": 1.0}, ValueError, r"Got start = 1.0, but expected a tensor"),
        ((Z, Z), {"divergence": "kml"}, ValueError, "'kml', but expected one of .kmm., .kl., .lea"),
        ((Z, Z), {"steps": 0}, ValueError, "steps=0, but expected a whole number, 1 or more"),
        ((Z, Z), {"steps": 2.5}, ValueError, "steps=2.5"),
        ((Z, Z), {"bound": 0.5}, ValueError, "bound=0.5, but expected 1 or more"),
        ((Z, Z), {"bound": math.nan}, ValueError, "bound=nan"),
    ],
)
def test_what_batches_cannot_be_weighed(inputs, options, error, said):
    with pytest.raises(error, match=said):
        batch_weights(*inputs, **options)


# ------------------------------------------------------------------ the loss with a long tail


def _scores(margins, classes=3):
    """Scores of three classes whose first is right by these margins."""
    output = torch.zeros(len(margins), classes, dtype=F64)
    output[:, 0] = torch.as_tensor(margins, dtype=F64) + math.log(classes - 1)
    return output.requires_grad_(), torch.zeros(len(margins), dtype=torch.long)


def _polynomial(margins, power=1.0):
    output, y = _scores(margins)
    losses = PolynomialLoss(power, reduction="none")(output, y)
    losses.sum().backward()
    return losses.detach().numpy(), output.grad[:, 0].numpy()


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
class TestPolynomialLoss:
    def test_below_margin_zero_it_is_cross_entropy(self, power):
        output, y = _scores(np.linspace(-30, 0, 61))
        want = torch.nn.functional.cross_entropy(output, y, reduction="none")
        torch.testing.assert_close(PolynomialLoss(power, reduction="none")(output, y), want)

    def test_above_it_is_the_formula(self, power):
        margins = np.array([0.1, 1.0, 50.0])
        want = math.log(2) * (1 + margins / (2 * power * math.log(2))) ** -power
        np.testing.assert_allclose(_polynomial(margins, power)[0], want, rtol=1e-12)

    def test_value_and_slope_join_at_zero(self, power):
        value, slope = _polynomial([-1e-9, 1e-9], power)
        assert value[0] == pytest.approx(value[1], abs=2e-9)
        assert slope == pytest.approx([-0.5, -0.5], abs=1e-8)

    def test_it_falls_and_is_convex_in_the_margin(self, power):
        value, slope = _polynomial(np.linspace(-20, 200, 5_001), power)
        assert np.all(np.diff(value) < 0)
        assert np.all(np.diff(slope) > -1e-12)

    def test_its_tail_has_the_power(self, power):
        value, _ = _polynomial([1e6, 2e6], power)
        assert value[0] / value[1] == pytest.approx(2**power, rel=1e-5)

    def test_gradients_of_huge_margins_are_finite(self, power):
        for dtype in (torch.float32, F64):
            output = torch.tensor([[1e30, 0.0], [0.0, 1e30], [0.0, 0.0]], dtype=dtype)
            output.requires_grad_()
            PolynomialLoss(power)(output, torch.tensor([0, 0, 0])).backward()
            assert bool(torch.isfinite(output.grad).all())


def test_reductions_are_those_of_torch():
    output, y = _scores([-1.0, 0.5, 3.0])
    each = PolynomialLoss(reduction="none")(output, y)
    assert float(PolynomialLoss()(output, y).detach()) == pytest.approx(float(each.detach().mean()))
    total = PolynomialLoss(reduction="sum")(output, y)
    assert float(total.detach()) == pytest.approx(float(each.detach().sum()))


@pytest.mark.parametrize("power", [0, -1, math.inf, math.nan])
def test_a_power_that_is_no_tail_is_refused(power):
    with pytest.raises(ValueError, match="expected a positive number"):
        PolynomialLoss(power)


def test_an_unknown_reduction_is_refused():
    with pytest.raises(ValueError, match="reduction='max', but expected 'mean', 'sum' or 'none'"):
        PolynomialLoss(reduction="max")


def test_losses_of_rows_are_made_of_a_criterion_or_it_is_refused():
    criterion = torch.nn.MSELoss()
    own = without_reduction(criterion)
    assert (own.reduction, criterion.reduction) == ("none", "mean")
    losses = own(torch.ones(4, 2), torch.zeros(4, 2))
    assert one_for_each_row(losses, 4, "MSELoss").tolist() == [1.0] * 4
    with pytest.raises(ValueError, match=r"Linear, which has no losses of single rows"):
        without_reduction(torch.nn.Linear(1, 1))
    with pytest.raises(ValueError, match=r"losses of shape \(\) from the criterion MSELoss for 4"):
        one_for_each_row(losses.mean(), 4, "MSELoss")


# ------------------------------------------------------------------ lam beyond 1


@pytest.mark.parametrize("alpha", [1.0, 1 - 1e-6, 0.0, -1.0, 2.0, 3.0, -300.0, 40.0])
@pytest.mark.parametrize("lam", [0.0, 1e-9, 0.3, 0.99, 1.0])
def test_up_to_one_beyond_is_the_kernel(lam, alpha):
    s = torch.cat([torch.linspace(-40, 40, 801, dtype=F64), torch.tensor([-math.inf], dtype=F64)])
    want = log_weight(s, lam, alpha)
    torch.testing.assert_close(Beyond(lam, alpha)(s), want, rtol=1e-12, atol=1e-12)
    assert torch.equal(Beyond(lam, alpha)(s), plain_log_weight(s, lam, alpha))


def test_beyond_one_it_is_the_formula():
    r = torch.tensor([0.1, 0.5, 1.0, 4.0], dtype=F64)
    torch.testing.assert_close(torch.exp(Beyond(3.0)(torch.log(r))), r**3)
    # alpha = -1 is the straight line through 1 and r, and no weight is negative
    line = (1 + 2 * (r - 1)).clamp(min=0)
    torch.testing.assert_close(torch.exp(Beyond(2.0, -1)(torch.log(r))), line)
    roots = (1 + 1.5 * (r**0.5 - 1)).clamp(min=0) ** 2
    torch.testing.assert_close(torch.exp(Beyond(1.5, 0)(torch.log(r))), roots)
    assert isinstance(Beyond(2.0), Geodesic)


@pytest.mark.parametrize(
    ("weighting", "said"),
    [
        (Beyond(-0.5), "lam must be 0 or more"),
        (Beyond(math.nan), "lam must be 0 or more"),
        (Beyond(1.0, math.inf), "alpha a finite number"),
        (Beyond(1.5, 3.0), "with alpha > 1 the curve ends at lam = 1; use alpha <= 1"),
        (Geodesic(1.5), r"between 0 and 1 \(weighbridge.torch.Beyond goes further\)"),
    ],
)
def test_points_without_weights_are_refused(weighting, said):
    with pytest.raises(ValueError, match=said):
        DynamicWeights(5, weighting)
    if isinstance(weighting, Beyond):
        with pytest.raises(ValueError, match=said):
            weighting(torch.zeros(2))


# ------------------------------------------------------------------ dynamic weights


def _moved(dynamic, epochs=2, seed=0, n=120):
    """Weights of batches of 40 of drifting features, and what is known after some epochs."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(n, 4, generator=generator, dtype=F64)
    given = []
    for epoch in range(epochs):
        for rows in torch.randperm(n, generator=generator).split(40):
            z_target = 0.6 + torch.randn(40, 4, generator=generator, dtype=F64)
            losses = torch.rand(40, generator=generator, dtype=F64) + 1
            given.append(dynamic(rows, z[rows] * (1 + 0.1 * epoch), z_target, losses=losses))
        dynamic.end_epoch()
    return given


def test_warm_up_has_no_weights_then_they_have_mean_one():
    dynamic = DynamicWeights(120, warmup=2)
    given = _moved(dynamic, epochs=4)
    assert all(bool((each == 1).all()) for each in given[:6])
    for each in given[6:]:
        assert float(each.mean()) == pytest.approx(1, abs=1e-6)
        assert float(each.std()) > 0.05
    assert [record["epoch"] for record in dynamic.history] == [1, 2, 3, 4]
    assert dynamic.history[1]["ess"] == pytest.approx(120)
    weight = dynamic.weight.double()
    assert dynamic.history[-1]["ess"] == pytest.approx(float(weight.sum() ** 2 / (weight**2).sum()))
    assert dynamic.history[-1]["largest"] == pytest.approx(float(weight.max()))
    weighted = (weight * dynamic.known[2].double()).mean()
    assert dynamic.history[-1]["loss"] == pytest.approx(float(weighted))


def test_the_running_ratio_is_the_formula():
    z, z_target = _samples(50, 60)
    options = {"divergence": "kmm", "steps": 7, "bound": 4}
    dynamic = DynamicWeights(50, Geodesic(0.5, 3), warmup=0, memory=0.7, **options).double()
    rows, old = torch.randperm(50), torch.ones(50, dtype=F64)
    for _ in range(3):
        got = dynamic(rows, z[rows], z_target)
        found = batch_weights(z[rows], z_target, start=old[rows], **options)
        ratio = 0.7 * old[rows] + 0.3 * found
        old[rows] = ratio / ratio.mean()
        np.testing.assert_allclose(got, Geodesic(0.5, 3).weights(torch.log(old[rows])))
    torch.testing.assert_close(dynamic.ratio, old)
    torch.testing.assert_close(dynamic.weight[rows], got)


def test_a_function_is_a_weighting_and_a_subclass_keeps_its_own_call():
    class Halved(Geodesic):
        def __call__(self, log_ratio):
            return log_ratio / 2

    z, z_target = _samples(50, 60)
    rows = torch.arange(50)
    found = [
        DynamicWeights(50, weighting, warmup=0)(rows, z, z_target)
        for weighting in (Geodesic(0.5), lambda log_ratio: log_ratio / 2, Halved())
    ]
    torch.testing.assert_close(found[0], found[1])
    torch.testing.assert_close(found[0], found[2])


def test_no_two_settings_share_a_recording(monkeypatch):
    """Whatever changes the weights is part of the key by which CUDA's graphs are kept."""
    keys = []

    def remember(key, work, inputs, state):
        keys.append(key)
        return work(*inputs)

    monkeypatch.setattr("weighbridge.torch._dynamic.replayed", remember)
    z, z_target = _samples(20, 20)
    settings = [
        {},
        {"weighting": Geodesic(0.5)},
        {"weighting": Geodesic(0.5, 3)},
        {"weighting": Beyond(2.0)},
        {"memory": 0.9},
        {"steps": 6},
        {"bound": 4.0},
        {"divergence": "kmm"},
        {"on": torch.tanh},
    ]
    for options in settings:
        DynamicWeights(20, warmup=0, **options).double()(torch.arange(20), z, z_target)
    assert len(set(keys)) == len(settings)


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_a_saved_state_goes_on_bit_for_bit(dtype):
    dynamic = DynamicWeights(120).to(dtype)
    _moved(dynamic, epochs=2)
    file = io.BytesIO()
    torch.save(dynamic.state_dict(), file)
    file.seek(0)
    loaded = DynamicWeights(120).to(dtype)
    loaded.load_state_dict(torch.load(file, weights_only=True))
    twins = [loaded, copy.deepcopy(dynamic), pickle.loads(pickle.dumps(dynamic))]
    want = _moved(dynamic, epochs=2, seed=1)
    assert want[0].dtype == dtype
    for twin in twins:
        got = _moved(twin, epochs=2, seed=1)
        assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))
        assert twin.history == dynamic.history
        assert torch.equal(twin.known, dynamic.known)
        assert str(twin.findings()) == str(dynamic.findings())


def test_the_state_of_other_rows_is_refused_and_nothing_changes():
    dynamic, other = DynamicWeights(120), DynamicWeights(80)
    _moved(dynamic)
    with pytest.raises(ValueError, match=r"state of 120 rows for weights of 80.*same table"):
        other.load_state_dict(dynamic.state_dict())
    assert other.history == []


def test_a_row_that_is_there_twice_keeps_one_of_its_weights():
    z, z_target = _samples(4, 30)
    rows = torch.tensor([1, 1, 0, 2])
    dynamic = DynamicWeights(3, warmup=0)
    got = dynamic(rows, z, z_target)
    assert float(got.mean()) == pytest.approx(1)
    assert float(dynamic.weight[1]) in (float(got[0]), float(got[1]))


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("place", ["z_source", "z_target", "losses"])
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_nan_and_infinity_poison_no_weight_and_are_told_at_the_end(value, place, divergence):
    z, z_target = _samples(40, 40)
    rows, losses = torch.arange(40), torch.ones(40)
    dynamic = DynamicWeights(40, warmup=0, divergence=divergence)
    before = dynamic(rows, z, z_target, losses=losses)
    inputs = {"z_source": z.clone(), "z_target": z_target.clone(), "losses": losses.clone()}
    inputs[place][3] = value
    assert torch.equal(dynamic(rows, **inputs), before)
    assert torch.equal(dynamic.weight, before)
    with pytest.raises(ValueError, match=r"NaN or infinite numbers in 1 batches .*kept"):
        dynamic.end_epoch()
    assert dynamic.history == []
    after = dynamic(rows, z, z_target, losses=losses)
    assert bool(torch.isfinite(after).all())
    assert dynamic.end_epoch()["epoch"] == 1
    dynamic.findings()


def _layers():
    return torch.nn.Sequential(
        torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2)
    ).double()


def test_look_gives_the_features_losses_or_what_is_made_of_the_output():
    net, x = _layers(), torch.randn(5, 2, dtype=F64)
    output, z = DynamicWeights(5).look(net, x)
    assert torch.equal(output, net(x))
    assert torch.equal(z, net[:2](x))
    assert torch.equal(DynamicWeights(5, layer="0").look(net, x)[1], net[0](x))
    on_output = DynamicWeights(5, on=lambda output: output.softmax(1))
    assert torch.equal(on_output.look(net, x)[1], net(x).softmax(1))
    _, z = DynamicWeights(5, on="losses").look(net, x, lambda output: output.square().sum(1))
    assert torch.equal(z, net(x).square().sum(1))
    assert not net[2]._forward_hooks


class Unused(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.first(x)


@pytest.mark.parametrize(
    ("net", "layer", "said"),
    [
        (Unused(), "frist", "'frist', which Unused does not have; it has .first."),
        (Unused(), "conv9", "'conv9', which Unused does not have; it has .first., .second."),
        (Unused(), "second", "layer='second', which Unused has but does not run"),
        (Unused(), None, "Got the last linear layer, which Unused has but does not run"),
        (torch.nn.Sequential(torch.nn.Tanh()), None, r"without a linear layer; name the layer"),
    ],
)
def test_layers_that_cannot_be_looked_at(net, layer, said):
    with pytest.raises(ValueError, match=said):
        DynamicWeights(5, layer=layer).look(net, torch.zeros(5, 2))


def test_losses_need_a_function_that_makes_them():
    with pytest.raises(ValueError, match="on='losses' and no row_losses; pass a function"):
        DynamicWeights(5, on="losses").look(_layers(), torch.zeros(5, 2, dtype=F64))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"n_rows": 0}, ValueError, "n_rows=0, but expected a whole number, 1 or more"),
        ({"n_rows": 2.0}, ValueError, "n_rows=2.0"),
        ({"warmup": -1}, ValueError, "warmup=-1, but expected a whole number, 0 or more"),
        ({"memory": 1}, ValueError, r"memory=1, but expected a number in \[0, 1\)"),
        ({"memory": math.nan}, ValueError, "memory=nan"),
        ({"on": "layers"}, ValueError, "on='layers', but expected 'features', 'losses' or a fun"),
        ({"weighting": 0.5}, TypeError, "weighting=0.5, but expected a Geodesic, or a function"),
        ({"weighting": Geodesic}, TypeError, "but expected a Geodesic, or a function"),
        ({"divergence": "mmd"}, ValueError, "divergence='mmd'"),
        ({"bound": 0}, ValueError, "bound=0"),
        ({"steps": True}, ValueError, "steps=True"),
    ],
)
def test_options_that_mean_nothing(options, error, said):
    with pytest.raises(error, match=said):
        DynamicWeights(**{"n_rows": 5, **options})


ROWS = torch.arange(4)


@pytest.mark.parametrize(
    ("inputs", "error", "said"),
    [
        ((ROWS[:3], Z, Z), ValueError, r"rows of shape \(3,\) on cpu, but expected .* 4 rows"),
        (([0, 1, 2, 3], Z, Z), ValueError, r"rows = \[0, 1, 2, 3\], but expected a tensor"),
        ((ROWS.double(), Z, Z), TypeError, r"rows of type torch.float64.*indices: rows.long"),
        ((ROWS > 1, Z, Z), TypeError, r"rows of type torch.bool"),
        ((ROWS.int(), Z, Z), TypeError, r"rows of type torch.int32, but .*: rows.long\(\)"),
        ((ROWS + 3, Z, Z), IndexError, "rows from 3 to 6, .* weights for 5 rows: 0 to 4"),
        ((ROWS - 1, Z, Z), IndexError, "rows from -1 to 2"),
        ((ROWS.to("meta"), Z, Z), ValueError, "rows of shape .* on meta.*on cpu"),
        (
            (ROWS.to("meta"), Z.to("meta"), Z.to("meta")),
            ValueError, r"z_source on meta, but these weights are on cpu; .*dynamic.to\('meta'\)",
        ),
        ((ROWS, Z, Z[:, :1]), ValueError, r"\(4, 2\) and z_target of \(4, 1\); both need"),
        ((ROWS, Z, Z[:0]), ValueError, r"z_target of shape \(0, 2\)"),
        ((ROWS, Z, Z.double()), TypeError, "make them alike"),
        ((ROWS, Z, Z, torch.ones(3)), ValueError, r"losses of shape \(3,\)"),
        ((ROWS, Z, Z, torch.ones(4, 1)), ValueError, r"losses of shape \(4, 1\)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("warmup", [0, 1])
def test_batches_that_cannot_be_weighed_change_nothing(inputs, error, said, warmup):
    dynamic = DynamicWeights(5, warmup=warmup)
    before = dynamic.known.clone()
    with pytest.raises(error, match=said):
        dynamic(*inputs)
    assert torch.equal(dynamic.known.nan_to_num(), before.nan_to_num())
    assert dynamic.findings() == []


# ------------------------------------------------------------------ findings


@pytest.fixture(scope="module")
def digits():
    """Pixels and digits, with a thousand rows to train on first."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(y.size)
    return torch.tensor(X[order] / 16).float(), torch.tensor(y[order])


def _trained(X, y, X_target, *, epochs=20, decay=0.0, weighting=None, seed=0, last=64):
    """A net and its dynamic weights; Geodesic(0) has none, with the same start and batches."""
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, last), torch.nn.ReLU(),
        torch.nn.Linear(last, 10),
    )  # fmt: skip
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=decay)
    dynamic = DynamicWeights(len(X), weighting)
    for _ in range(epochs):
        for rows in torch.randperm(len(X)).split(250):
            output, z = dynamic.look(net, X[rows])
            with torch.no_grad():
                _, z_target = dynamic.look(net, X_target[torch.randint(len(X_target), (250,))])
            losses = torch.nn.functional.cross_entropy(output, y[rows], reduction="none")
            optimizer.zero_grad()
            (dynamic(rows, z, z_target, losses=losses) * losses).mean().backward()
            optimizer.step()
        dynamic.end_epoch()
    return net, dynamic


def _codes(dynamic):
    return [each.code for each in dynamic.findings()]


def test_no_effect_is_said_of_a_net_without_loss_and_not_of_nets_that_react(digits):
    X, y = digits
    thick = X.mean(1) > X.mean(1).quantile(0.67)
    X, y, X_target = X[:1000], y[:1000], X[thick]
    moved, said = {}, {}
    for name, options in {
        "zero loss": {"epochs": 250},
        "stopped early": {"epochs": 8},
        "weight decay": {"epochs": 100, "decay": 1e-2},
    }.items():
        net, dynamic = _trained(X, y, X_target, weighting=Beyond(3.0), **options)
        plain, _ = _trained(X, y, X_target, weighting=Geodesic(0.0), **options)
        with torch.no_grad():
            shift = net(X_target).softmax(1) - plain(X_target).softmax(1)
        moved[name] = float(shift.abs().sum(1).mean() / 2)
        said[name] = _codes(dynamic)
    assert said["zero loss"] == ["WB308"]
    assert said["stopped early"] == said["weight decay"] == []
    assert moved["zero loss"] < 0.5 * min(moved["stopped early"], moved["weight decay"])


def test_nothing_is_said_of_effects_where_no_weights_are_in_use():
    z, z_target = _samples(20, 20)
    for options in ({"weighting": Geodesic(0.0)}, {"warmup": 9}):
        dynamic = DynamicWeights(20, **options).double()
        for loss in (1.0, 1e-9, 1e-9):
            losses = torch.full((20,), loss, dtype=F64)
            dynamic(torch.arange(20), z, z_target, losses=losses)
            dynamic.end_epoch()
        assert "WB308" not in str(dynamic.findings())


def test_nan_during_warm_up_is_told_too():
    z, z_target = _samples(20, 20)
    dynamic = DynamicWeights(20).double()
    z[3] = math.nan
    dynamic(torch.arange(20), z, z_target)
    with pytest.raises(ValueError, match="in 1 batches"):
        dynamic.end_epoch()


def test_whole_numbers_of_numpy_are_whole_numbers_and_a_repr_says_what_it_is():
    dynamic = DynamicWeights(np.int64(5), Beyond(2.0), on="losses")
    assert repr(dynamic) == "DynamicWeights(5, weighting=Beyond(lam=2.0), on='losses')"


def test_the_words_of_no_effect():
    dynamic = DynamicWeights(5)
    dynamic.history = [{"epoch": 1, "ess": 5, "loss": 2.0}, {"epoch": 2, "ess": 4, "loss": 0.007}]
    assert _codes(dynamic) == []
    dynamic.history.append({"epoch": 3, "ess": 4, "loss": 0.005})
    (found,) = dynamic.findings()
    assert (found.code, found.level) == ("WB308", "warning")
    assert "weights have no effect: the training loss is zero (0.005 in epoch 3, 2 in" in str(found)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_outside_are_counted_and_nothing_is_said_without_shift(digits, seed):
    X, y = digits
    X, y, X_target = X[:1000], y[:1000], X[1000:].clone()
    _, same = _trained(X, y, X_target, seed=seed)
    assert _codes(same) == []
    strange = int(0.31 * len(X_target))
    X_target[:strange] = 3 * X_target[:strange]  # three times as bright as any row of training
    _, dynamic = _trained(X, y, X_target, seed=seed)
    assert _codes(dynamic) == ["WB304"]
    share = float(re.search(r"([\d.]+) % of the target lies outside the training", str(
        dynamic.findings()[0]
    ))[1])  # fmt: skip
    assert 26 <= share <= 36


def test_a_share_of_rows_outside_is_counted_exactly():
    z = torch.rand(400, 2, dtype=F64)
    z_target = torch.rand(400, 2, dtype=F64)
    z_target[:124] += 5
    dynamic = DynamicWeights(400)
    for part in range(2):
        rows = torch.arange(200) + 200 * part
        dynamic(rows, z[rows], z_target[rows])
    within = torch.cdist(z_target[124:], z).amin(1)
    own = torch.cdist(z, z).fill_diagonal_(math.inf).amin(1)
    share = (124 + int((within > own.quantile(0.99)).sum())) / 400
    assert f"{100 * share:.0f} % of the target lies outside the training" in str(dynamic.findings())


@pytest.mark.parametrize("width", [1, 3, 20])
def test_two_gaussians_are_the_linear_discriminant(width):
    z, z_target = (each.numpy() for each in _samples(150, 130, width))
    spread = z.T @ z - 150 * np.outer(z.mean(0), z.mean(0))
    spread += z_target.T @ z_target - 130 * np.outer(z_target.mean(0), z_target.mean(0))
    covariance = spread / 280 + 0.03 * np.trace(spread / 280) / width * np.eye(width)
    log_ratio = z @ np.linalg.solve(covariance, z_target.mean(0) - z.mean(0))
    want = np.exp(log_ratio) / np.exp(log_ratio).mean()
    options = {"divergence": "gaussian", "steps": 20}
    got = batch_weights(torch.tensor(z), torch.tensor(z_target), **options)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-8)


# ------------------------------------------------------------------ on CUDA


@needs_cuda
@pytest.mark.parametrize("bound", [4.0, math.inf])
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_cuda_finds_what_the_cpu_finds_again_and_again(divergence, bound):
    for seed in range(4):  # the first call records, the others replay
        z, z_target = _samples(256, 256, 10, seed=seed)
        start = torch.rand(256, dtype=F64)
        options = {"divergence": divergence, "bound": bound}
        want = batch_weights(z, z_target, start=start, **options)
        got = batch_weights(z.cuda(), z_target.cuda(), start=start.cuda(), **options)
        torch.testing.assert_close(got.cpu(), want, rtol=0, atol=1e-6)


@needs_cuda
@pytest.mark.parametrize("weighting", [Geodesic(0.7, 3), Beyond(1.5), lambda s: 0.5 * s])
def test_dynamic_weights_on_cuda_are_those_of_the_cpu(weighting):
    z, z_target = _samples(256, 256, 10)
    rows = torch.randperm(300)[:256]
    here = DynamicWeights(300, weighting, warmup=0).double()
    there = copy.deepcopy(here).cuda()
    for step in range(4):  # recording must not count as a step
        losses = torch.rand(256, dtype=F64)
        want = here(rows, z * (1 + 0.1 * step), z_target, losses=losses)
        got = there(rows.cuda(), z.cuda() * (1 + 0.1 * step), z_target.cuda(), losses=losses.cuda())
        torch.testing.assert_close(got.cpu(), want, rtol=0, atol=1e-6)
        torch.testing.assert_close(there.known.cpu(), here.known, rtol=0, atol=1e-6, equal_nan=True)
    z_target[0] = math.nan
    there(rows.cuda(), z.cuda(), z_target.cuda(), losses=losses.cuda())
    with pytest.raises(ValueError, match="in 1 batches"):
        there.end_epoch()


@needs_cuda
def test_two_tables_on_cuda_do_not_share_a_recording():
    z, z_target = (each.cuda() for each in _samples(64, 64))
    rows = torch.arange(64).cuda()
    one, other = (DynamicWeights(n, warmup=0).cuda() for n in (64, 80))
    for _ in range(2):
        one(rows, z, z_target)
    assert bool((other.ratio == 1).all())
    other(rows, z, z_target)
    assert bool((other.ratio[64:] == 1).all())
    assert not bool((other.ratio[:64] == 1).all())
