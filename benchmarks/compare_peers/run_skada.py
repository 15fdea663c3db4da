"""skada: a reweighting pipeline, and its importance-weighted score of it and of a plain model.

The score is of held-out training rows; 1 minus the accuracy is an expected error, without an
interval. Importing skada switches metadata routing on for the whole process.
"""

import numpy as np
from _child import Job, effective_rows, error_text, takes_as_they_are
from skada import KLIEPReweightAdapter, make_da_pipeline
from skada.metrics import ImportanceWeightedScorer
from sklearn.model_selection import ShuffleSplit, cross_validate

job = Job()


def stacked(X, X_target):
    domain = np.repeat([1, -2], [len(X), len(X_target)])
    mask = -1 if job.is_classes else np.nan  # how skada marks labels that are not known
    y = np.concatenate([job.y.astype(float), np.full(len(X_target), mask)])
    return np.vstack([X, X_target]), y, domain


def learner():
    return job.learner().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)


def weighted():
    return make_da_pipeline(KLIEPReweightAdapter(gamma=1.0, random_state=0), learner())


def plain():
    return make_da_pipeline(learner())


def negative_squares(estimator, X, y, sample_weight, **others):
    """Takes what skada passes; scikit-learn's own scorers refuse it."""
    return -np.average((estimator.predict(X, **others) - y) ** 2, weights=sample_weight)


def expected(pipeline):
    """The mean of five weighted scores of held-out rows, as an error."""
    scoring = None if job.is_classes else negative_squares
    scores = cross_validate(
        pipeline,
        X,
        y,
        params={"sample_domain": domain},
        cv=ShuffleSplit(5, test_size=0.2, random_state=0),
        scoring=ImportanceWeightedScorer(scoring=scoring),
        error_score="raise",
    )["test_score"]
    return job.error(1 - scores.mean() if job.is_classes else -scores.mean())


def attempt(function, *args):
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - whatever a package does is a result
        return error_text(error)


def as_they_are():
    X, y, domain = stacked(job.X.to_numpy(), job.deploy.to_numpy())
    weighted().fit(X, y, sample_domain=domain)


encoded, encoded_target = job.encoded()
X, y, domain = stacked(encoded, encoded_target)
model = weighted().fit(X, y, sample_domain=domain)
adapter = KLIEPReweightAdapter(gamma=1.0, random_state=0).fit(X, sample_domain=domain)
weights = adapter.compute_weights(X, sample_domain=domain)[: len(encoded)]
np.savetxt(job.out / "weights.csv", weights)
job.answer(
    effective=effective_rows(weights),
    rows=len(encoded),
    expected=attempt(expected, plain()),
    expected_used=attempt(expected, weighted()),
    actual=job.actual(),
    actual_used=job.truth(model.predict(encoded_target)),
    as_they_are=takes_as_they_are(as_they_are),
)
