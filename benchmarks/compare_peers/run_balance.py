"""balance: weights of the survey kind, balance before and after, and a weighted mean.

The mean of an outcome is what it is made for. Here the outcome is the held-out loss of the plain
model, so that its weighted mean is an expected error.
"""

import logging

from _child import Job

logging.disable(logging.CRITICAL)
from balance import Sample  # noqa: E402 - after its log is off

job = Job()
losses = job.losses(job.held_out(), job.y)
names = [f"{number}" for number in range(len(job.X) + len(job.deploy))]
train = job.X.assign(id=names[: len(job.X)], loss=losses)
deploy = job.deploy.assign(id=names[len(job.X) :])
sample = Sample.from_frame(train, id_column="id", outcome_columns=["loss"])
target = Sample.from_frame(deploy, id_column="id")
adjusted = sample.adjust(target)
(job.out / "summary.txt").write_text(adjusted.summary())
adjusted.to_csv(str(job.out / "weights.csv"))
distance = adjusted.covars().asmd()
before = distance.loc["unadjusted"].drop("mean(asmd)").sort_values(ascending=False)
mean, (low, high) = (
    adjusted.outcomes().mean().loc["self", "loss"],
    (adjusted.outcomes().ci_of_mean().loc["self", "loss"]),
)
weights = adjusted.weights()
job.answer(
    features=list(before.index[:3]),
    asmd=[float(distance.loc[name, "mean(asmd)"]) for name in ("unadjusted", "self")],
    design_effect=float(weights.design_effect()),
    effective=len(train) / float(weights.design_effect()),
    rows=len(train),
    expected=[job.error(each) for each in (mean, low, high)],
    actual=job.actual(),
    as_they_are="yes",
)
