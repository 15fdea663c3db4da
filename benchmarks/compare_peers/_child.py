"""What every package is given: two tables, one pipeline, and the truth to look at afterwards.

    ENVIRONMENT/bin/python benchmarks/compare_peers/run_NAME.py TABLES OUT

TABLES has train.csv, deploy.csv (no labels), truth.csv (its labels) and about.json. OUT gets what
the package writes, and answers.json: what it says to each question.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


class Job:
    """The tables of one job, and a plain model of them."""

    def __init__(self):
        tables, self.out = map(Path, sys.argv[1:])
        about = json.loads((tables / "about.json").read_text())
        self.tables, self.label = tables, about["label"]
        self.is_classes = about["kind"] == "classification"
        self.train, self.deploy = (
            pd.read_csv(tables / f"{name}.csv", float_precision="round_trip")
            for name in ("train", "deploy")
        )
        self.X, self.y = self.train.drop(columns=self.label), self.train[self.label].to_numpy()

    def encoder(self):
        """Numbers for packages that take nothing else: gaps filled, categories as columns."""
        numbers = list(self.X.select_dtypes("number"))
        return make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            (
                make_pipeline(
                    SimpleImputer(strategy="constant", fill_value="missing"),
                    OneHotEncoder(handle_unknown="ignore", sparse_output=False),
                ),
                [name for name in self.X if name not in numbers],
            ),
        )

    def learner(self):
        return LogisticRegression(max_iter=1000) if self.is_classes else Ridge()

    def model(self):
        return make_pipeline(self.encoder(), self.learner())

    def encoded(self):
        """Both tables as numbers; the encoder sees the training rows alone."""
        encoder = self.encoder().fit(self.X)
        return encoder.transform(self.X), encoder.transform(self.deploy)

    def held_out(self, method="predict"):
        return cross_val_predict(self.model(), self.X, self.y, cv=5, method=method)

    def losses(self, said, y):
        return (said != y).astype(float) if self.is_classes else (said - y) ** 2

    def error(self, mean_loss):
        return float(mean_loss if self.is_classes else max(mean_loss, 0.0) ** 0.5)

    def truth(self, said):
        """The error of predictions for the deployment rows, by labels that no package saw."""
        y = pd.read_csv(self.tables / "truth.csv", float_precision="round_trip")[self.label]
        return self.error(self.losses(np.asarray(said), y.to_numpy()).mean())

    def actual(self):
        """The error of the plain model in deployment."""
        return self.truth(self.model().fit(self.X, self.y).predict(self.deploy))

    def answer(self, **answers):
        (self.out / "answers.json").write_text(json.dumps(answers, indent=1, default=float))


def effective_rows(weights):
    weights = np.asarray(weights, dtype=float)
    return float(weights.sum() ** 2 / (weights**2).sum())


def error_text(error):
    return f"{type(error).__name__}: {error}".split("\n")[0][:200]


def takes_as_they_are(function):
    """Return "yes", or the error that a table with gaps and categories meets."""
    try:
        function()
    except Exception as error:  # noqa: BLE001 - whatever a package does is a result
        return error_text(error)
    return "yes"
