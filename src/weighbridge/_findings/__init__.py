"""What every layer says in the same way; importing it is light."""

from weighbridge._findings.progress import Progress, SearchProgress, Stage, Stages, told_progress

__all__ = ["Progress", "SearchProgress", "Stage", "Stages", "told_progress"]
