"""joblib's jobs on the workers of dask, none of which is needed to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from joblib.parallel import AutoBatchingMixin, ParallelBackendBase, SequentialBackend
from joblib.parallel import FallbackToBackend as Fallback

if TYPE_CHECKING:
    from weighbridge.cli._cluster import DaskEngine


class JobBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc, unused-ignore]
    """Sends jobs to dask with everything that they need.

    joblib's own backend for dask first puts large arguments on some worker, and a worker that is
    killed takes them with it: the run fails. Here a job is bytes that dask keeps until it is done,
    and any other worker can do it. A worker does its jobs one by one, without jobs of their own.

    Parameters
    ----------
    engine : DaskEngine
        Sends the jobs.
    """

    supports_retrieve_callback = True
    default_n_jobs = 1

    def __init__(self, engine: DaskEngine):
        super().__init__(nesting_level=0)
        self._engine = engine
        self._waiting: set[Any] = set()

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Return 1: what asks before it works, as forests do, works here and as with one job."""
        return 1

    def configure(
        self,
        n_jobs: int = 1,
        parallel: Any = None,
        prefer: str | None = None,
        require: str | None = None,
        **_: Any,
    ) -> int:
        """Return how many jobs are done at once, whatever number was asked for."""
        if prefer == "threads":
            # meant for shared memory: one tree of a forest is not worth the table it is grown on
            raise Fallback(SequentialBackend(nesting_level=0))
        self.parallel = parallel
        # with one job joblib would do it all here
        return max(2, self._engine.n_workers)

    def get_nested_backend(self) -> tuple[Any, None]:
        """Return what a job gets for jobs of its own: one after the other."""
        return SequentialBackend(nesting_level=1), None

    def submit(self, func: Any, callback: Any = None) -> Any:
        """Send a batch of jobs; the callback gets dask's future."""
        future = self._engine.send(func)
        self._waiting.add(future)
        future.add_done_callback(callback)
        return future

    apply_async = submit  # its name until joblib 1.4

    def retrieve_result_callback(self, out: Any) -> Any:
        """Return the results of a batch."""
        self._waiting.discard(out)
        return self._engine.result(out)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Take back what has not been done."""
        self._engine.take_back(self._waiting)
        self._waiting = set()
