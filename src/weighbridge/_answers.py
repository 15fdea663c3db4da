"""From evaluated candidates to the one, or the few, that the final model is made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from weighbridge.blocks import is_blocks, predict_by_blocks
from weighbridge.criteria._objective import CandidateObjective
from weighbridge.criteria._row_loss import RowLoss, respond
from weighbridge.search import Difference, SearchResult
from weighbridge.search._result import weighted_mean

FloatArray = npt.NDArray[np.float64]

ANSWERS = ("stack", "guard", "argmin")
# Standard errors by which weights must beat no weights, where the choice is free: chosen by the
# selection benchmark, where 0 harms on real sets and 1 gives away gains.
_GUARD = 0.5
# Where most of the target lies outside: the share of the loss without weights that they must save,
# and that the unweighted model must have even on the rows it was fitted on. By the benchmark again:
# straight lines that gain keep 0.8 to 0.9 of it there, boosting and lines that are led astray 0.3
# to 0.55.
_LARGE_GAIN = 0.5
_RIGID = 2 / 3
# Weight of the constraint that shares add up to 1, against errors of size 1.
_SUM_TO_ONE = 1e4
# Smaller shares are noise, and would each cost a fit.
_SMALLEST_SHARE = 0.01
# Candidates to stack, besides the best.
_MANY = 12


class Answer(NamedTuple):
    """Which candidates the final model is made of, with what shares, and in short why."""

    indices: list[int]
    shares: FloatArray
    reason: str


class _Proposal(NamedTuple):
    """Candidates and shares, the loss without weights, and the paired gain over it."""

    indices: list[int]
    shares: FloatArray
    loss_without: float
    gain: Difference

    def __str__(self) -> str:
        value, error = self.gain
        return f"gain {value:.3g} of {self.loss_without:.3g}, standard error {error:.2g}"


def form_answer(
    kind: str,
    objective: CandidateObjective,
    result: SearchResult,
    unweighted: Any,
    *,
    guarded: bool,
) -> Answer:
    """Turn a search result into candidates and shares.

    "argmin" is the candidate with the smallest loss, whatever it is. The two others fall back to
    no weights unless their gain over it, paired row by row, is worth it: "guard" takes the same
    candidate, "stack" averages a dozen with the shares that minimise the loss of the averaged
    held-out predictions. Where it is `guarded`, few rows make the gain: it must be large, and the
    `unweighted` model, fitted on all rows, must be too rigid to follow them.
    """
    if kind == "argmin":
        return Answer([result.best_index], np.ones(1), "the smallest loss, whatever it gains")
    none = result.index_of((0.0, 1.0))
    if result.evaluations[none].failed:
        return _without(none, "no weights could not be scored, and nothing compared with them")
    if len(result.evaluations) == 1:
        return _without(none, "there was nothing to choose from")
    if result.best_index == none:
        return _without(none, "no weighting has a smaller loss")
    loss = objective.row_loss
    if kind == "stack" and loss is not None:
        proposal = _stack(objective, loss, result, none)
    else:
        gain = result.difference(none, result.best_index)
        proposal = _Proposal([result.best_index], np.ones(1), float(result.values[none]), gain)
    obstacle = _obstacle(proposal, objective, unweighted, guarded)
    if obstacle:
        return _without(none, f"{proposal}: {obstacle}")
    return Answer(proposal.indices, proposal.shares, f"{proposal}: enough")


def _without(none: int, reason: str) -> Answer:
    return Answer([none], np.ones(1), reason)


def _obstacle(
    proposal: _Proposal, objective: CandidateObjective, unweighted: Any, guarded: bool
) -> str:
    """Say what speaks against the weights; nothing if they are worth it."""
    value, error = proposal.gain
    if np.isnan(error):
        raise ValueError(
            "Got a criterion with a single number for each candidate (a metric of one held-out "
            "part as a whole), whose gain over no weights has no standard error. Use "
            "CrossValidation(...) or a metric that is a mean over rows, or answer='argmin'."
        )
    if not guarded:
        return "" if value > _GUARD * error else "less than half a standard error"
    before = proposal.loss_without
    # a loss that may be negative, as a likelihood or minus a score, has no half
    if not (before > 0 and value > max(error, _LARGE_GAIN * before)):
        return "too little where most of the target lies outside the source"
    if not _is_rigid(unweighted, objective, before):
        return "the model follows the few rows near the target without weights"
    return ""


def _is_rigid(unweighted: Any, objective: CandidateObjective, held_out: float) -> bool:
    """True where the unweighted model misses the rows near the target although it has seen them.

    A flexible model follows them; what it loses on them when they are held out is for want of
    rows, and no weights make more of those.
    """
    loss = objective.row_loss
    if loss is None:  # a metric of whole folds: in other units than the loss of rows
        return True
    rows = objective.rows
    if is_blocks(rows.X):
        every = np.asarray(predict_by_blocks(unweighted, rows.X))
        predicted = every if rows.kept is None else every[rows.kept]
    else:
        predicted = respond(unweighted, rows.X, loss.response, rows.classes)
    fitted = loss.loss(rows.codes, predicted)
    return weighted_mean(fitted, rows.unit_weights).value > _RIGID * held_out


def _stack(
    objective: CandidateObjective, loss: RowLoss, result: SearchResult, none: int
) -> _Proposal:
    chosen = finalists(result, none)
    evaluations = [result.evaluations[index] for index in chosen]
    place = chosen.index(none)
    errors = objective.held_out(evaluations)
    if errors is not None:  # rows in blocks: sums instead of predictions
        shares = _without_small(simplex_minimum(errors.costs))
        before, gain = errors.gain(place, shares)
    else:
        predictions = objective.predictions(evaluations)
        rows, held = objective.rows, objective.held_rows
        truth, weights = rows.codes[held], rows.unit_weights[held]
        shares = _without_small(stack_shares(predictions, truth, weights))
        without = loss.loss(truth, predictions[place])
        together = loss.loss(truth, np.tensordot(shares, predictions, axes=1))
        before = weighted_mean(without, weights).value
        gain = weighted_mean(without - together, weights)
    kept = shares > 0
    indices = [index for index, keep in zip(chosen, kept, strict=True) if keep]
    return _Proposal(indices, shares[kept], before, gain)


def _without_small(shares: FloatArray) -> FloatArray:
    """Drop small shares, and scale the others up."""
    kept = shares >= _SMALLEST_SHARE
    return np.where(kept, shares, 0.0) / shares[kept].sum()


def stack_shares(predictions: FloatArray, truth: np.ndarray, weights: FloatArray) -> FloatArray:
    """Shares, at least 0 and adding up to 1, of the average with the least squared error.

    `predictions` has one row for each candidate; of classes, one more axis with their
    probabilities, whose squared error is the Brier score.
    """
    error = predictions - truth if predictions.ndim == 2 else predictions.copy()
    if predictions.ndim == 3:
        error[:, np.arange(truth.size), truth] -= 1
        error = error.transpose(0, 2, 1)
    flat = (error * np.sqrt(weights / weights.sum())).reshape(len(error), -1)
    return simplex_minimum(flat @ flat.T)


def simplex_minimum(costs: FloatArray) -> FloatArray:
    """Minimise ``shares' costs shares`` over shares that are at least 0 and add up to 1.

    `costs` is positive semi-definite. Non-negative least squares with the sum as one more, heavy
    equation.
    """
    size = len(costs)
    scale = np.trace(costs) / size
    if not scale > 0:  # all predictions are perfect
        return np.eye(size)[0]
    root = np.linalg.cholesky(costs / scale + _SUM_TO_ONE + 1e-9 * np.eye(size))
    shares, _ = nnls(root.T, np.linalg.solve(root, np.full(size, _SUM_TO_ONE)))
    return np.asarray(shares / shares.sum())


def finalists(result: SearchResult, none: int) -> list[int]:
    """Pick candidates that span the family: no weights, other named ones, the best, and others.

    Neighbours on a fine surface are one model for all purposes; a stack of all would be slow.
    """
    good = [index for index, value in enumerate(result.values) if np.isfinite(value)]
    chosen = list(dict.fromkeys([none, *good[:4], result.best_index]))  # named ones come first
    rest = [index for index in good if index not in chosen]
    step = max(1, -(-len(rest) // max(1, _MANY - len(chosen))))
    return sorted({*chosen, *rest[::step]})


def check_answer(kind: Any, lam_bounds: tuple[float, float]) -> None:
    """Refuse an answer that does not exist, or that cannot be formed within the bounds."""
    if kind not in ANSWERS:
        raise ValueError(f"Got answer={kind!r}, but expected one of {', '.join(ANSWERS)}.")
    if kind != "argmin" and lam_bounds[0] > 0:
        raise ValueError(
            f"Got lam_bounds={lam_bounds}, which exclude lam = 0, with answer={kind!r}, which "
            "compares with no weights; start the bounds at 0, or use answer='argmin'."
        )
