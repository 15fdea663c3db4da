"""Does geometric bias say anything about statistical bias, and is it of use as a regulariser?

    WEIGHBRIDGE_DATA=... python -m benchmarks.geometric_bias [ranks] [regulariser] [--half choose]

ranks: on the forty problems of `_bias_problems`, every (lam, alpha) of a grid: geometric measures
of the weighting against the statistical bias (excess target risk of the infinite-sample weighted
fit), and against the excess target risk of finite samples with the known ratio. Spearman's rank
correlation within each problem; the table shows how it spreads over the problems.

regulariser: weights that minimise mean((w - r)**2) + gamma * length to the target, with mean 1,
w >= 0 and a floor of the effective sample size, against w^(lam, alpha), all chosen by the same
importance-weighted leave-one-out loss. Problems and sets are split into two halves by the hash of
their names: `choose`, and `report` for what earns its place there.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is there
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.optimize import brentq, root
from scipy.special import expit
from scipy.stats import rankdata, spearmanr

from benchmarks._bias_problems import (
    fit,
    forty,
    log_loss,
    name_half,
    with_constant,
)
from benchmarks._record import record
from benchmarks._shift_tasks import projected
from weighbridge.geodesic import log_weight, remaining_length
from weighbridge.manifolds import MultivariateNormal

LAMS = np.linspace(0.1, 0.9, 9)
ALPHAS = np.linspace(-1, 3, 9)
WIDER = np.linspace(-3, 5, 9)
SIZES = (100, 300, 1000)
# A ratio of exp(-150) is 0 for every sum here; lengths are not computed beyond exp(-600).
LEAST = -150.0


def grid(alphas=ALPHAS):
    """Every pair strictly between the ends, where curves of all alpha meet."""
    return (each.ravel() for each in np.meshgrid(LAMS, alphas, indexing="ij"))


def mean_one(log_w, mass=None):
    """Weights of mean 1 along the last axis."""
    w = np.exp(log_w - log_w.max(axis=-1, keepdims=True))
    total = w.mean(axis=-1) if mass is None else w @ mass
    return w / total[..., None]


# --- geometric and statistical bias -----------------------------------------------------------


def distance(w, r, mass):
    """Great-circle distance 2 arccos sum sqrt(w r) of weights of mean 1, by the chord."""
    chord = np.sqrt((np.sqrt(w) - np.sqrt(r)) ** 2 @ mass)
    return 4 * np.arcsin(np.minimum(chord / 2, 1))


def measures(problem, lam, alpha, log_ratio, mass):
    """Geometric measures of every (lam, alpha), and two others to compare them with."""
    w = mean_one(log_weight(log_ratio, lam[:, None], alpha[:, None]), mass)
    r = mean_one(log_ratio, mass)
    family = MultivariateNormal(problem.d)
    at = family.theta(np.zeros(problem.d), np.eye(problem.d))  # the same everywhere
    scalar = {each: family.scalar_curvature(at, each) for each in np.unique(alpha)}
    return {
        "1 - lam": 1 - lam,
        "remaining length": remaining_length(log_ratio, lam, alpha, sample_weight=mass),
        "distance": distance(w, r, mass),
        "squared distance": (w - r) ** 2 @ mass,
        "curvature": np.abs((1 - lam) * np.array([scalar[each] for each in alpha])),
        "n / ESS": w**2 @ mass,
    }


def population_bias(problem, lam, alpha, **options):
    """Excess target risk of the infinite-sample fits over that of the fit with the full ratio."""
    A, y, s, mass = problem.nodes(**options)
    r = mass * mean_one(s, mass)
    best, _ = fit(A, y, r[None], problem.classes)
    log_w = log_weight(s, lam[:, None], alpha[:, None])
    beta, _ = fit(A, y, mass * mean_one(log_w, mass), problem.classes)
    return row_losses(problem, A, y, beta) @ r - row_losses(problem, A, y, best) @ r, best[0]


def row_losses(problem, A, y, beta):
    """Losses of coefficients (k, p) at rows whose E[y | x] is known; the noise is left out."""
    eta = beta @ A.T
    return log_loss(eta, y) if problem.classes else (eta - y) ** 2


def finite_risks(problem, best, lam, alpha, n, draws, seed=0):
    """Excess target risk over draws of n source rows: mean, variance part, median, error.

    The variance part is what the mean exceeds the risk of the mean coefficients by.
    """
    A, expected = problem.target_rows()
    best = np.append(best, np.zeros(A.shape[1] - best.size))
    least = row_losses(problem, A, expected, best[None]).mean()
    found, fits = [], []
    for draw in range(draws):
        X, y, s = problem.draw(n, np.random.default_rng([seed, n, draw]))
        w = mean_one(log_weight(s, lam[:, None], alpha[:, None]))
        beta, _ = fit(X, y, w, problem.classes, penalty(problem.classes))
        fits.append(beta)
        found.append(row_losses(problem, A, expected, beta).mean(axis=1) - least)
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / draws**0.5
    middle = row_losses(problem, A, expected, np.mean(fits, axis=0)).mean(axis=1) - least
    return mean, mean - middle, np.median(found, axis=0), error


def penalty(classes):
    """What keeps finite fits finite: scikit-learn's default of logistic regression, or nearly 0."""
    return 1.0 if classes else 1e-3


def spearman(a, b):
    """Rank correlation, nothing where one of them is constant."""
    return float(spearmanr(a, b)[0])


def beyond(a, b, given):
    """Partial rank correlation of a and b, what `given` (rows) ranks taken out of both."""
    given = np.vstack([np.ones(len(a)), *(rankdata(each) for each in given)]).T
    left = [
        rank - given @ np.linalg.lstsq(given, rank, rcond=None)[0]
        for rank in (rankdata(a), rankdata(b))
    ]
    return float(np.corrcoef(left)[0, 1])


def ranks_of(problem, draws):
    """Every rank correlation of one problem."""
    lam, alpha = grid()
    ratio = merged(*problem.nodes()[2:])
    bias, best = population_bias(problem, lam, alpha)
    some = np.arange(0, lam.size, 20)
    fine, _ = population_bias(problem, lam[some], alpha[some], finer=1.5)
    geometric = measures(problem, lam, alpha, *ratio)
    found = {"quadrature": float(np.abs(fine - bias[some]).max() / np.ptp(bias))}
    found["bias"] = _against(geometric, bias) | _partial(geometric, bias, alpha)
    one = problem.draw(300, np.random.default_rng(7))[2]
    sampled = remaining_length(np.maximum(one, LEAST), lam, alpha)
    found["bias"]["length from 300 rows"] = spearman(sampled, bias)
    wide = list(grid(WIDER))
    found["bias, alpha from -3 to 5"] = _against(
        measures(problem, *wide, *ratio), population_bias(problem, *wide)[0]
    )
    found["bias, one lam"] = _within(geometric, bias, lam)
    for n in SIZES:
        mean, variance, median, error = finite_risks(problem, best, lam, alpha, n, draws)
        found[f"total, n = {n}"] = _against(geometric, mean) | _partial(geometric, mean, alpha)
        found[f"median, n = {n}"] = _against(geometric, median)
        found[f"variance, n = {n}"] = _against(geometric, variance)
        found[f"error, n = {n}"] = float(np.median(error) / np.ptp(mean))
    return found


def merged(s, mass, width=0.01):
    """Nodes of nearly equal log ratio put together: lengths see nothing else."""
    place = np.unique(np.round(np.maximum(s, LEAST) / width), return_inverse=True)[1]
    total = np.bincount(place, mass)
    return np.bincount(place, mass * np.maximum(s, LEAST)) / total, total


def _against(geometric, risk):
    return {name: spearman(value, risk) for name, value in geometric.items()}


def _partial(geometric, risk, alpha):
    """Return what a measure adds to others."""
    length, curvature, left = (
        geometric[name] for name in ("remaining length", "curvature", "1 - lam")
    )
    return {
        "curvature beyond length": beyond(curvature, risk, [length]),
        "alpha beyond length": beyond(alpha, risk, [length]),
        "curvature beyond length and alpha": beyond(curvature, risk, [length, alpha]),
        "length beyond curvature": beyond(length, risk, [curvature]),
        "length beyond 1 - lam": beyond(length, risk, [left]),
        "distance beyond 1 - lam": beyond(geometric["distance"], risk, [left]),
    }


def _within(geometric, risk, lam):
    """Return mean rank correlations at equal lam: which curve has the smaller bias?"""
    names = ("remaining length", "distance", "squared distance", "curvature")
    return {
        name: float(
            np.mean([spearman(geometric[name][lam == each], risk[lam == each]) for each in LAMS])
        )
        for name in names
    }


# --- the regulariser --------------------------------------------------------------------------

# Share h of the length: (1 - h) mean((w - r)**2)/2 + 4 h (1 - mean sqrt(w r)) under the floor.
SHARES = (0.0, 0.2, 0.5, 0.8, 1.0)
# A floor of the effective size is told by the lam of the mixture that just meets it.
FLOORS = np.linspace(0.1, 0.9, 9)
N_SIMULATED = 200
SETS = ("boston", "diabetes", "california", "australian", "breast-cancer", "heart", "pima")
SLOPES = (1, 2, 4)


def regularised(r, floor, share):
    """Weights of mean 1 with mean(w**2) <= 1 + floor**2 Var(r) that are nearest to the ratio.

    They minimise ``(1 - share) mean((w - r)**2)/2 + share D_0`` with ``D_0 = 4 (1 - mean sqrt(w r))
    = 8 sin(d/4)**2``, d the great-circle distance to the target: a convex problem. Without the
    length (share 0) it is the mixture ``1 + floor (r - 1)``. Minimisers with gamma times the length
    itself are among them, ``gamma = 4 share/(1 - share) sin(d/2)``.
    """
    if share == 0:
        return 1 + floor * (r - 1)
    moment = 1 + floor**2 * r.var()
    q, c = 1 - share, 2 * share * np.sqrt(r)

    def constraints(at):
        a, nu = np.exp(at[0]), at[1]
        # stationary: a w + nu = q r + c/sqrt(w), a cubic in x = sqrt(w)
        x = positive_root(a, nu - q * r, c)
        w, slope = x**2, 3 * a * x**2 + nu - q * r
        by_a, by_nu = -2 * a * x**4 / slope, -2 * x**2 / slope
        change = [
            [by_a.mean(), by_nu.mean()],
            [np.mean(2 * w * by_a), np.mean(2 * w * by_nu)],
        ]
        return np.array([w.mean() - 1, np.mean(w**2) - moment]), np.array(change)

    a = 1 / floor - share  # right for ratios next to 1
    found = root(constraints, [np.log(a), 1 + share - a], jac=True, tol=1e-12)
    if np.abs(found.fun).max() > 1e-9:
        found = root(constraints, _nested(constraints, q, r, c), jac=True, tol=1e-12)
    if np.abs(found.fun).max() > 1e-9:
        raise ArithmeticError(f"no multipliers found for floor {floor} and share {share}")
    return positive_root(np.exp(found.x[0]), found.x[1] - q * r, c) ** 2


def _nested(constraints, q, r, c):
    """Multipliers near the solution: nu by the mean for every a, a by the floor."""

    def nu_of(log_a):
        low, high = -np.exp(log_a), q * r.max() + c.max()  # no weight below 1, or above
        return brentq(lambda nu: constraints([log_a, nu])[0][0], low, high)

    low, high = np.log(q + 1e-6), 1.0
    while constraints([high, nu_of(high)])[0][1] > 0:
        high += 2
    log_a = brentq(lambda each: constraints([each, nu_of(each)])[0][1], low, high, xtol=1e-6)
    return [log_a, nu_of(log_a)]


def positive_root(a, b, c):
    """The largest root x >= 0 of ``a x**3 + b x = c``, for a > 0 and c >= 0."""
    p, m = b / a / 3, c / a / 2
    size = np.sqrt(np.maximum(np.abs(p), 1e-300))
    t = m / size**3
    up = 2 * size * np.sinh(np.arcsinh(t) / 3)
    down = (
        2
        * size
        * np.where(
            t > 1,
            np.cosh(np.arccosh(np.maximum(t, 1)) / 3),
            np.cos(np.arccos(np.minimum(t, 1)) / 3),
        )
    )
    return np.where(p > 0, up, down)


def at_floor(log_ratio, floor, alpha):
    """The point of a curve that has the effective size of the mixture at lam = floor."""
    moment = 1 + floor**2 * mean_one(log_ratio).var()

    def excess(lam):
        return np.mean(mean_one(log_weight(log_ratio, lam, alpha)) ** 2) - moment

    lam = brentq(excess, 0.0, 1.0)
    return mean_one(log_weight(log_ratio, lam, alpha))


def candidates(log_ratio):
    """Weights of mean 1, and which of them each method chooses from."""
    r = mean_one(log_ratio)
    ends = np.array([np.ones_like(r), r])
    lam, alpha = grid()
    curves = mean_one(log_weight(log_ratio, lam[:, None], alpha[:, None]))
    ours = np.array([regularised(r, floor, share) for share in SHARES for floor in FLOORS])
    same = np.array([at_floor(log_ratio, floor, each) for each in (1, 3) for floor in FLOORS])
    start = 2 + len(curves)
    of_share = np.repeat(SHARES, len(FLOORS))
    choices = {
        "ERM": [0],
        "IWERM": [1],
        "RIWERM(.8)": [2 + int(np.argmax(np.isclose(lam, 0.8) & (alpha == 3)))],
        "alpha 1, 3": [0, 1, *(2 + np.flatnonzero(np.isin(alpha, (1, 3))))],
        "alpha -1 to 3": [*range(start)],
        "alpha 1, 3 at the floors": [
            0,
            1,
            *range(start + len(ours), start + len(ours) + len(same)),
        ],
        "mixture (curvature)": [0, 1, *(start + np.flatnonzero(of_share == 0))],
        "length only": [0, 1, *(start + np.flatnonzero(of_share == 1))],
        "length and square": [0, 1, *range(start, start + len(ours))],
    }
    return np.vstack([ends, curves, ours, same]), choices


def leave_one_out(A, y, weights, classes):
    """Coefficients, and the (approximate, for classes) loss of every row left out."""
    beta, inverse = fit(A, y, weights, classes, penalty(classes))
    eta = beta @ A.T
    leverage = np.einsum("np,kpq,nq->kn", A, inverse, A, optimize=True) * weights
    if not classes:
        return beta, ((y - eta) / (1 - leverage)) ** 2
    chance = expit(eta)
    moved = eta + leverage * (chance - y) / (1 - leverage * chance * (1 - chance))
    return beta, log_loss(moved, y)


def tasks(half):
    """Name, kind and draw of every task of a half; a draw is A, y, log ratio and a risk."""
    for name, problem in forty().items():
        if name_half(name) == half:
            yield name, problem.classes, _simulated(problem)
    for name in SETS if "WEIGHBRIDGE_DATA" in os.environ else ():
        for slope in SLOPES if name_half(name) == half else ():
            classes = projected(name, slope, 0).kind == "classification"
            yield f"{name}, slope {slope}", classes, _real(name, slope, classes)


def _simulated(problem):
    A_target, expected = problem.target_rows()
    noise = 0.0 if problem.classes else problem.noise**2

    def draw(seed):
        A, y, s = problem.draw(N_SIMULATED, np.random.default_rng([seed, 5]))
        return A, y, s, lambda beta: row_losses(problem, A_target, expected, beta).mean(1) + noise

    return draw


def _real(name, slope, classes):
    def draw(seed):
        data = projected(name, slope, seed)
        A, y, A_target = with_constant(data.X), data.y.astype(float), with_constant(data.X_target)
        if classes:
            y = (y == y.max()).astype(float)
            truth = (data.y_target == data.y.max()).astype(float)
            return A, y, data.log_ratio, lambda b: log_loss(b @ A_target.T, truth).mean(1)
        return A, y, data.log_ratio, lambda b: ((b @ A_target.T - data.y_target) ** 2).mean(1)

    return draw


def compare(draw, classes, draws):
    """Target risk of every method in every draw, by both kinds of validation weights."""
    found = {}
    for seed in range(draws):
        A, y, s, risk = draw(seed)
        weights, choices = candidates(np.maximum(s, LEAST))
        beta, losses = leave_one_out(A, y, weights, classes)
        target = risk(beta)
        for by, v in (("ratio", s), ("relative", log_weight(s, 0.8, 3.0))):
            score = losses @ mean_one(v)
            for method, of in choices.items():
                chosen = of[int(np.argmin(score[of]))]
                found.setdefault(by, {}).setdefault(method, []).append(float(target[chosen]))
            found[by].setdefault("best of all", []).append(float(target.min()))
    return found


def nearest_member(problem, seed=0):
    """Distance of regularised weights to the nearest w^(lam, alpha), by that to the target."""
    _, _, s = problem.draw(N_SIMULATED, np.random.default_rng([seed, 5]))
    s = np.maximum(s, LEAST)
    r, mass = mean_one(s), np.full(s.size, 1 / s.size)
    lam, alpha = np.meshgrid(np.linspace(0, 1, 81), np.linspace(-2, 4, 49))
    curves = mean_one(log_weight(s, lam.ravel()[:, None], alpha.ravel()[:, None]))
    found = []
    for share in SHARES[1:]:
        for floor in FLOORS[::2]:
            w = regularised(r, floor, share)
            away = distance(curves, w, mass)
            place = int(np.argmin(away))
            left = distance(w, r, mass)
            found.append((float(away[place] / left), float(alpha.ravel()[place])))
    return found


# --- summaries --------------------------------------------------------------------------------


def spread(values):
    """Median, quartiles and ends of figures of the problems."""
    low, first, median, third, high = np.quantile(values, (0, 0.25, 0.5, 0.75, 1))
    return {"median": median, "quartiles": [first, third], "ends": [low, high]}


def ranks(draws):
    """Rank correlations on all forty problems, and how they spread."""
    by_problem = {}
    for name, problem in forty().items():
        begun = time.perf_counter()
        by_problem[name] = ranks_of(problem, draws if not problem.classes else draws // 2)
        length = by_problem[name]["bias"]["remaining length"]
        print(f"{name:24} {length:6.3f}  {time.perf_counter() - begun:5.1f} s", flush=True)
    figures = {}
    for risk, cells in by_problem["toy, cubic"].items():
        if not isinstance(cells, dict):
            figures[risk] = spread([each[risk] for each in by_problem.values()])
            continue
        figures[risk] = {
            measure: spread([each[risk][measure] for each in by_problem.values()])
            for measure in cells
        }
        print(risk)
        for measure, each in figures[risk].items():
            numbers = [each["median"], *each["quartiles"], *each["ends"]]
            print(f"  {measure:26}" + "".join(f"{number:8.3f}" for number in numbers))
    return figures | {"by problem": by_problem}


def regulariser(half, draws, reference="alpha 1, 3"):
    """Paired differences of the log target risk from a reference, in percent, over the tasks."""
    by_task, groups = {}, {}
    for name, classes, draw in tasks(half):
        by_task[name] = compare(draw, classes, draws)
        kind = "real" if "slope" in name else "simulated"
        groups.setdefault(kind, []).append(name)
        print(name, flush=True)
    figures = {"by task": by_task}
    for by, (kind, names) in (
        (by, each) for by in ("ratio", "relative") for each in groups.items()
    ):
        table = figures.setdefault(f"{kind}, by {by}", {"tasks": len(names)})
        print(f"{kind}, validation weights: {by}, {len(names)} tasks")
        for method in by_task[names[0]][by]:
            gaps = np.array(
                [
                    100 * np.log(np.divide(by_task[name][by][method], by_task[name][by][reference]))
                    for name in names
                ]
            )
            table[method] = cell = paired(gaps)
            print(f"  {method:25} {cell['mean']:8.2f} +- {cell['error']:5.2f}  {cell}")
    away = np.array([nearest_member(each) for each in forty().values()])[..., 0]
    figures["nearest member"] = spread(away.ravel())
    print("nearest member", figures["nearest member"])
    return figures


def paired(gaps):
    """Mean over tasks of differences (tasks, draws), its error, and tasks beyond two errors."""
    of_task = gaps.mean(axis=1)
    error = gaps.std(axis=1, ddof=1) / gaps.shape[1] ** 0.5
    beyond_noise = np.abs(of_task) > 2 * error + 1e-12
    return {
        "mean": float(of_task.mean()),
        "error": float(of_task.std(ddof=1) / len(of_task) ** 0.5),
        "error of the draws": float(np.sqrt(np.sum(error**2)) / len(error)),
        "better": int(np.sum(beyond_noise & (of_task < 0))),
        "worse": int(np.sum(beyond_noise & (of_task > 0))),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", default=["ranks", "regulariser"])
    parser.add_argument("--half", default="choose", choices=("choose", "report"))
    parser.add_argument(
        "--draws", type=int, default=0, help="200 for ranks, 40 for the regulariser"
    )
    options = parser.parse_args()
    if "ranks" in options.parts:
        record("geometric_bias", ranks(options.draws or 200))
    if "regulariser" in options.parts:
        figures = regulariser(options.half, options.draws or 40)
        record(f"geometric_bias_regulariser_{options.half}", figures)


if __name__ == "__main__":
    main()
