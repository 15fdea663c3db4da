"""A scheduler of dask that someone else has started, and workers that must be like this process."""

from __future__ import annotations

import os
import platform
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

from distributed import Client

from weighbridge._problem import Problem
from weighbridge.exceptions import InputError

# What the last digits depend on.
_PACKAGES = ("weighbridge", "numpy", "scipy", "scikit-learn", "pandas")
# Seconds: for the address to answer, for it to answer as a scheduler, for a first worker.
_ANSWER, _GREETING, _WORKERS = 2.0, 2.5, 10.0


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """Give a client of a scheduler whose workers have what the work needs.

    Parameters
    ----------
    address : str
        ``tcp://host:port``.

    Yields
    ------
    Client
        Connected.
    """
    reason = _unreachable(address)
    if reason:
        raise _refused(address, reason)
    try:
        client = Client(address, timeout=_GREETING, set_as_default=False)
    # whatever else answers is taken for lengths of what follows: too long, or nonsense
    except (OSError, TimeoutError, ValueError, MemoryError):
        raise _refused(address, "what answers there is no scheduler of dask") from None
    with client:
        _check_workers(client, address)
        yield client


def _unreachable(address: str) -> str:
    """Return why nothing answers at an address; empty where something does."""
    parts = urlsplit(address)
    found = [f"no answer within {_ANSWER:g} s"]

    def knock() -> None:
        try:
            socket.create_connection((parts.hostname or "", parts.port or 0), _ANSWER).close()
        except OSError as error:
            found[0] = (error.strerror or str(error)).lower()
        else:
            found[0] = ""

    # in a thread, because looking a name up has no time limit of its own
    thread = threading.Thread(target=knock, daemon=True)
    thread.start()
    thread.join(_ANSWER + 0.5)
    return found[0]


def _check_workers(client: Client, address: str) -> None:
    """Refuse a cluster without workers, or with workers of other versions: digits would differ."""
    if not client.nthreads():
        # a cluster that grows on demand sees a demand
        probe = client.submit(os.getpid, pure=False)
        try:
            client.wait_for_workers(1, timeout=_WORKERS)
        except TimeoutError:
            raise _refused(address, f"no worker came within {_WORKERS:g} s") from None
        finally:
            probe.cancel()
    there = client.run(platform.python_version)
    _compare(address, "Python", platform.python_version(), there)
    for package in _PACKAGES:
        try:
            here = version(package)
        except PackageNotFoundError:
            continue
        _compare(address, package, here, client.run(version, package, on_error="return"))


def _compare(address: str, package: str, here: str, there: dict[str, object]) -> None:
    others = {"none" if isinstance(each, Exception) else str(each) for each in there.values()}
    others -= {here}
    if others:
        raise InputError(
            [
                Problem(
                    "WB149",
                    f"the workers of dask at {address} have another {package}.",
                    (f"there: {', '.join(sorted(others))}; here: {here}",),
                    "start them from an environment like this one, or work here: --engine local",
                    "usage",
                )
            ]
        )


def _refused(address: str, reason: str) -> InputError:
    return InputError(
        [
            Problem(
                "WB150",
                f"dask's scheduler at {address} cannot be used: {reason}.",
                (),
                "check the address and that it runs (dask scheduler), or start workers here: "
                "--engine dask",
                "usage",
            )
        ]
    )
