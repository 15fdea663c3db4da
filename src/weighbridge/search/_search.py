"""What every search has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext

from sklearn.base import BaseEstimator

from weighbridge.search._evaluation import Objective
from weighbridge.search._journal import Journal
from weighbridge.search._point import Bounds
from weighbridge.search._result import SearchResult
from weighbridge.search._run import Progress, Proposals, run


class Search(BaseEstimator, ABC):  # type: ignore[misc, unused-ignore]
    """Abstract: proposes points, and is told what they are worth.

    Examples
    --------
    All searches are called with an objective and bounds:

    >>> from weighbridge.search import BayesianSearch, GridSearch, OptunaSearch, Search
    >>> all(issubclass(each, Search) for each in (BayesianSearch, GridSearch, OptunaSearch))
    True
    """

    def __call__(
        self,
        objective: Objective,
        bounds: Bounds = Bounds(),  # noqa: B008 - it cannot be changed
        *,
        journal: Journal | None = None,
        progress: Progress | None = None,
    ) -> SearchResult:
        """Minimise the objective.

        Parameters
        ----------
        objective : Objective
            What to minimise.
        bounds : Bounds, default=Bounds()
            Where.
        journal : Journal, optional
            Keeps finished evaluations, and spares those it already holds.
        progress : callable, optional
            Called after every evaluation with it, the number done, the number planned, and the
            smallest value so far.

        Returns
        -------
        SearchResult
            All evaluations; of a shared study also those of other processes.
        """
        with self._surroundings():
            proposals, planned = self._plan(objective, bounds)
            return run(objective, proposals, planned, journal=journal, progress=progress)

    @abstractmethod
    def _plan(self, objective: Objective, bounds: Bounds) -> tuple[Proposals, int]:
        """Return what is proposed, and how many evaluations that will be at most."""

    def _surroundings(self) -> AbstractContextManager[object]:
        """Return what must be set up around the whole search."""
        return nullcontext()
