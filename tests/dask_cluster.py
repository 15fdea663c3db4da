"""A small cluster of dask that tests share, and what kills its workers."""

import gc
import os
import signal
import threading
import warnings
from contextlib import contextmanager

from distributed import Client, LocalCluster


@contextmanager
def small_cluster(n_workers=2):
    """Give a cluster of processes with one thread each, on the loopback device, without pages."""
    with LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        # dask opens a port for its metrics all the same; this one is free
        scheduler_kwargs={
            "dashboard": False,
            "dashboard_address": "127.0.0.1:0",
            "allowed_failures": 1,  # a task that kills two workers is given up
        },
        silence_logs=60,  # a worker that a test kills is no news
    ) as cluster:
        yield cluster
    # sockets that dask leaves to the garbage are none of the next test's
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


class Killer(threading.Thread):
    """Kills the first worker that is seen at work, as the memory watch of a system does.

    Parameters
    ----------
    cluster : LocalCluster
        Dask starts its workers again.
    """

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.killed = None
        self._cluster, self._pids = cluster, _pids(cluster)
        self._over = threading.Event()

    def run(self):
        """Watch the scheduler, which is in this process, until a worker has something to do."""
        workers = self._cluster.scheduler.workers
        while self.killed is None and not self._over.wait(0.002):
            busy = [each.address for each in list(workers.values()) if each.processing]
            if busy:
                os.kill(self._pids[busy[0]], signal.SIGKILL)
                self.killed = busy[0]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join()


def _pids(cluster):
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
        return client.run(os.getpid)
