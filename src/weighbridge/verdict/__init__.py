"""Whether weighting is worth it: five questions, answered in words and numbers."""

from weighbridge.verdict._assess import assess
from weighbridge.verdict._verdict import Answer, Candidate, Verdict

__all__ = ["Answer", "Candidate", "Verdict", "assess"]

# for the packages above
from weighbridge.verdict._assess_models import assess_models as assess_models
from weighbridge.verdict._text import verdict_parts as verdict_parts
from weighbridge.verdict._workload import Workload as Workload
