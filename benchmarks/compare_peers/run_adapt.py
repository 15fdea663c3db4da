"""ADAPT: KLIEP as its documentation starts with it, and the score it has for choosing."""

import numpy as np
from _child import Job, effective_rows, takes_as_they_are
from adapt.instance_based import KLIEP
from adapt.metrics import reverse_validation
from sklearn.base import clone

job = Job()
X, X_target = job.encoded()


def weighted():
    return KLIEP(job.learner(), Xt=X_target, verbose=0, random_state=0)


def as_they_are():
    KLIEP(job.model(), Xt=job.deploy, verbose=0, random_state=0).fit(job.X, job.y)


model = weighted().fit(X, job.y)
answers = {"effective": effective_rows(model.weights_), "rows": len(X)}
np.savetxt(job.out / "weights.csv", model.weights_)
try:
    answers["reverse_validation"] = float(reverse_validation(model, X, job.y, X_target))
except Exception as error:  # noqa: BLE001 - whatever a package does is a result
    answers["reverse_validation"] = f"{type(error).__name__}: {error}"[:200]
plain = clone(job.learner()).fit(X, job.y)
job.answer(
    **answers,
    actual=job.truth(plain.predict(X_target)),
    actual_used=job.truth(model.predict(X_target).ravel()),
    as_they_are=takes_as_they_are(as_they_are),
)
