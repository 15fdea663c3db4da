"""Ten timings that a change should not make worse; ``make speed`` runs each once.

The tables are those of ``weighbridge demo``: a made-up clinic, 4,000 rows with labels and 2,000
without.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weighbridge import ImportanceWeightedCV, adapt, assess, diagnose, fit_ratio
from weighbridge._tables import read_table
from weighbridge.conformal import ConformalRegressor
from weighbridge.datasets import make_clinic, make_quadratic
from weighbridge.geodesic import log_weight
from weighbridge.ratios import ULSIF
from weighbridge.report import render

NUMBERS = ["age", "sys_bp", "visits", "income"]


class Parts:
    """What the whole job is made of."""

    def setup(self):
        self.log_ratio = 3 * np.random.default_rng(0).standard_normal(1_000_000)
        self.clinic = make_clinic(random_state=0)
        self.X, self.X_target = self.clinic.X[NUMBERS], self.clinic.X_target[NUMBERS]
        self.line = make_quadratic(random_state=0)

    def time_kernel(self):
        log_weight(self.log_ratio, 0.8, 2.3)

    def time_ratio(self):
        fit_ratio(self.X, self.X_target)

    def time_surface(self):
        # the search over (lam, alpha), in closed form for a linear model
        line = self.line
        ImportanceWeightedCV(LinearRegression(), random_state=0).fit(
            line.X, line.y, X_target=line.X_target
        )

    def time_diagnose(self):
        diagnose(self.X, self.X_target, random_state=0)

    def time_conformal(self):
        line = self.line
        model = ConformalRegressor(LinearRegression(), ULSIF(random_state=0), random_state=0)
        model.fit(line.X, line.y, X_target=line.X_target).predict_interval(line.X_target)


class Job:
    """The whole job, and what is slow at its ends."""

    timeout = 300

    def setup(self):
        clinic = make_clinic(random_state=0)
        self.train, self.deploy = clinic.X.assign(readmitted=clinic.y), clinic.X_target
        self.X, self.y, self.X_target = clinic.X[NUMBERS], clinic.y, clinic.X_target[NUMBERS]
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "train.csv"
        self.train.to_csv(self.path, index=False)

    def teardown(self):
        self.folder.cleanup()

    def time_import(self):
        subprocess.run([sys.executable, "-c", "from weighbridge import *"], check=True)

    def time_read_csv(self):
        read_table(self.path)

    def time_assess(self):
        model = make_pipeline(StandardScaler(), LogisticRegression())
        assess(model, self.X, self.y, self.X_target, random_state=0)

    def time_adapt(self):
        adapt(self.train, self.deploy, label="readmitted")


class Page:
    """The report of a finished job."""

    def setup_cache(self):
        clinic = make_clinic(1000, 500, random_state=0)
        train = clinic.X.assign(readmitted=clinic.y)
        return adapt(train, clinic.X_target, label="readmitted").to_dict()

    def time_render(self, result):
        render(result)
