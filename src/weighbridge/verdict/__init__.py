"""Whether weighting is worth it: five questions, answered in words and numbers."""

from weighbridge.verdict._assess import assess, assess_models
from weighbridge.verdict._candidates import Workload
from weighbridge.verdict._verdict import Answer, Candidate, Verdict, verdict_parts

# Public names; the others serve the packages above.
__all__ = ["Answer", "Candidate", "Verdict", "assess"]
