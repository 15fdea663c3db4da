"""Callbacks of scikit-learn, where its version has them: each evaluation of a search is a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for an estimator that knows no callbacks."""

    def with_callbacks(method: Method) -> Method:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "SearchTasks", "with_callbacks"]


class SearchTasks:
    """Tells the callbacks of an estimator about the evaluations of its search.

    Parameters
    ----------
    estimator : estimator
        Perhaps with callbacks, of its own or of an estimator around it.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._listened_to = hasattr(estimator, "_skl_callbacks")
        self._fit: Any = None

    def __call__(self, evaluation: Any, done: int, planned: int, best: float) -> None:
        """Say that one more evaluation is finished."""
        if not self._listened_to:
            return
        if self._fit is None:
            self._fit = self._estimator._init_callback_context(max_subtasks=planned)
            self._fit.call_on_fit_task_begin(estimator=self._estimator)
        if done > planned:
            return
        task = self._fit.subcontext(task_name="weighting")
        task.call_on_fit_task_begin(estimator=self._estimator)
        task.call_on_fit_task_end(estimator=self._estimator)

    def close(self) -> None:
        """Say that the search is over."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(estimator=self._estimator)
