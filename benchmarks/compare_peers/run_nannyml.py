"""NannyML: drift of each column, and the performance it estimates without labels.

The reference are the training rows with predictions of models that did not see them.
"""

import os
import warnings

os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"  # before it is there
warnings.simplefilter("ignore")

import nannyml  # noqa: E402 - after its usage log is off
from _child import Job  # noqa: E402

job = Job()
columns = list(job.X)
model = job.model().fit(job.X, job.y)
reference = job.train.assign(said=job.held_out())
analysis = job.deploy.assign(said=model.predict(job.deploy))
shared = {"y_true": job.label, "y_pred": "said", "chunk_number": 1}
if job.is_classes:
    reference["chance"] = job.held_out("predict_proba")[:, 1]
    analysis["chance"] = model.predict_proba(job.deploy)[:, 1]
    name = "accuracy"
    estimator = nannyml.CBPE(
        problem_type="classification_binary", y_pred_proba="chance", metrics=[name], **shared
    )
else:
    name = "rmse"
    estimator = nannyml.DLE(feature_column_names=columns, metrics=[name], **shared)
found = estimator.fit(reference).estimate(analysis).filter(period="analysis")
row = found.to_df()[name].iloc[0]
bounds = [row[f"{side}_confidence_boundary"] for side in ("lower", "upper")]
figures = [row["value"], *bounds]
if job.is_classes:
    figures = [1 - figures[place] for place in (0, 2, 1)]
# Ten chunks, as by default: how far those of the reference differ sets the threshold.
drift = nannyml.UnivariateDriftCalculator(column_names=columns, chunk_number=10)
drift = drift.fit(job.X).calculate(job.deploy).filter(period="analysis")
table = drift.to_df()
alerts = {name: int(table[name]["jensen_shannon"]["alert"].sum()) for name in columns}
apart = nannyml.DomainClassifierCalculator(feature_column_names=columns, chunk_number=1)
apart = apart.fit(job.X).calculate(job.deploy).filter(period="analysis").to_df()
drift.plot().write_html(job.out / "drift.html")
found.plot().write_html(job.out / "performance.html")
job.answer(
    features=[column for column in columns if alerts[column] > 5],
    alerts_of_ten=alerts,
    auc=apart["domain_classifier_auroc"]["value"].iloc[0],
    expected=figures,
    actual=job.truth(analysis["said"]),
    as_they_are="yes",
)
