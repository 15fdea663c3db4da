"""The door: an estimator and two samples in, a verdict out."""

from __future__ import annotations

from typing import Any

from weighbridge.verdict._assess_models import assess_models
from weighbridge.verdict._verdict import Verdict


def assess(
    estimator: Any,
    X: Any,
    y: Any,
    X_target: Any,
    *,
    ratio: Any = None,
    scoring: Any = None,
    loss: Any = None,
    candidates: Any = None,
    confidence: float = 0.95,
    sample_weight: Any = None,
    cv: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    journal: Any = None,
    progress: Any = None,
) -> Verdict:
    """Say whether weighting is worth it: is there shift, does it matter, does weighting help.

    Parameters
    ----------
    estimator : estimator
        The model you would train anyway; its ``fit`` takes ``sample_weight``. An
        `ImportanceWeightedCV` of your own is compared with its inner estimator.
    X, y : array-like or data frame of shape (n_samples, n_features), and labels
        Labelled source rows.
    X_target : same type, of shape (n_target, n_features)
        Target rows, without labels.
    ratio : density ratio, optional
        Fitted or not; default `AutoRatio()`.
    scoring : str, optional
        The loss shown, by its scorer: "accuracy" (the share of errors, the default for
        classifiers), "neg_root_mean_squared_error" (the default for regressors), "neg_log_loss",
        "neg_brier_score", "neg_mean_absolute_error", ... A mean over rows, or the root of one.
    loss : function ``loss(y, prediction)``, optional
        A loss of your own, in place of `scoring`.
    candidates : list of str, optional
        Which of none, full, power, relative and tuned to compare. Default: all five where they are
        cheap (linear models; logistic ones up to 20,000 rows), else none, full and tuned.
    confidence : float, default=0.95
        Of all intervals.
    sample_weight : array-like of shape (n_samples,), optional
        Own weights of the source rows, for fitting; 0 leaves a row out. Losses are averaged over
        rows as they are: the ratio and the target know nothing of these weights.
    cv : int, default=5
        Number of outer folds; each repeats the choice of the weighting.
    n_jobs : int, optional
        Fits in parallel, each in one thread.
    random_state : int, RandomState instance or None
        Deals the folds, seeds the searches.
    journal : path, optional
        Folder, made if it is missing, that keeps every finished evaluation of the searches. The
        same call after an interruption goes on from there; it needs an integer `random_state`.
    progress : function ``progress(stage, done, total)``, optional
        Called when a stage begins, with ``done=0``, and after each of its steps. The stages are
        "shift" (ratio, diagnosis, unweighted model), "bridge" (every other candidate on all rows)
        and "verify" (the outer folds of these); the last two only where there is shift to weight
        for.

    Returns
    -------
    Verdict
        The sentence, five answers, the comparison, the diagnosis, and the model to use.

    See Also
    --------
    weighbridge.diagnose : The two samples alone, without labels.
    weighbridge.target_risk.compare_risks : Any two models.

    Notes
    -----
    Weighting helps where the paired change of the expected loss is better than zero by more than
    one standard error; it "probably" helps where its interval still holds zero. Every expected loss
    is of outer folds: no weighting is praised on the rows that chose it. Where the samples hardly
    overlap nothing is estimated, and where no shift is found nothing is tuned.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from weighbridge.datasets import make_quadratic
    >>> from weighbridge.verdict import assess
    >>> data = make_quadratic(random_state=0)
    >>> verdict = assess(LinearRegression(), data.X, data.y, data.X_target, random_state=0)
    >>> verdict.shift, verdict.matters, verdict.weighting
    ('almost complete', 'yes', 'helps')
    >>> verdict.model.predict(data.X_target).shape
    (300,)
    """
    (verdict,) = assess_models(
        {"": estimator},
        X,
        y,
        X_target,
        ratio=ratio,
        scoring=scoring,
        loss=loss,
        candidates=candidates,
        confidence=confidence,
        sample_weight=sample_weight,
        cv=cv,
        n_jobs=n_jobs,
        random_state=random_state,
        journal=journal,
        progress=progress,
    ).values()
    return verdict
