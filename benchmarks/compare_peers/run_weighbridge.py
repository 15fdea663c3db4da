"""weighbridge: the whole job, with its files."""

from _child import Job

import weighbridge

job = Job()
result = weighbridge.adapt(job.tables / "train.csv", job.tables / "deploy.csv", label=job.label)
result.save(job.out / "files")
said = result.to_dict()


def expected(name):
    found = next((each for each in said["expect"]["candidates"] if each["name"] == name), None)
    figures = (found or {}).get("error")
    return figures and [figures[each] for each in ("value", "low", "high")]


use = said["verdict"]["use"]
plain = result.verdict.candidate("none").model
job.answer(
    sentence=said["verdict"]["sentence"],
    features=[each["name"] for each in said["shift"]["attribution"]][:3],
    overlap=said["verdict"]["overlap"],
    use=use,
    expected=expected("none"),
    expected_used=expected(use) if use else None,
    actual=job.truth(plain.predict(job.deploy)),
    actual_used=job.truth(result.model.predict(job.deploy)),
    as_they_are="yes",
)
