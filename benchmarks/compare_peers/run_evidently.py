"""Evidently: the report of drift."""

from _child import Job
from evidently import Report
from evidently.presets import DataDriftPreset

job = Job()
snapshot = Report([DataDriftPreset()]).run(current_data=job.deploy, reference_data=job.X)
snapshot.save_html(str(job.out / "drift.html"))
said = snapshot.dict()
(job.out / "drift.json").write_text(snapshot.json())
counts = next(each["value"] for each in said["metrics"] if "count" in str(each["value"]))
job.answer(drifted=counts, as_they_are="yes")
