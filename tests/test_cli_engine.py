"""``--engine``, ``--scheduler`` and ``--working-memory``: other places, the same bytes."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.utils.parallel import Parallel, delayed

from cli_runs import COLUMNS, run, valid, within_80_columns, write_clinic
from weighbridge._problem import Problem
from weighbridge.cli import _weights
from weighbridge.cli._engine import MOST_ROWS, Asked, Engine, scratch, started
from weighbridge.cli._options import Memory
from weighbridge.cli._session import Session
from weighbridge.exceptions import InputError

pytest.importorskip("distributed")

from dask_cluster import Killer, small_cluster
from weighbridge.cli import _scheduler

ADAPT = ("adapt", "train.csv", "deploy.csv", "--label", "readmitted")
WEIGHTS = ("weights", "train.csv", "deploy.csv", "--ratio", "gaussian")
PREDICT = ("predict", "weighbridge-out/model.skops")
FILES = ["model.skops", "report.html", "result.json", "weights.csv"]
# Commands with the options of the engine, as they are typed.
COMMANDS = [ADAPT, ("diagnose", "train.csv", "deploy.csv"), WEIGHTS, (*PREDICT, "deploy.csv")]


@pytest.fixture(scope="module")
def cluster():
    with small_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tables, a long one of more than one block, and what `adapt` makes of the two."""
    folder = tmp_path_factory.mktemp("engine")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SOURCE_DATE_EPOCH", "0")
        write_clinic(folder)
        train = pd.read_csv("train.csv", dtype=str)
        rows = np.random.default_rng(0).integers(0, len(train), 60_000)
        train.iloc[rows].drop(columns="readmitted").to_csv("long.csv", index=False)
        assert run(*ADAPT).exit_code == 0
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    return folder


def alone(folder, *words, **options):
    """Run a command in a process of its own; return how it ended and how long it took."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "weighbridge", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        **options,
    )
    return done, time.monotonic() - begun


# ------------------------------------------------------------------ what is typed


@pytest.mark.parametrize("words", COMMANDS)
def test_the_options_are_where_they_do_something_and_help_says_what(words):
    text = " ".join(run(words[0], "--help").stdout.split())
    assert "--engine NAME local, or dask: " in text
    assert "--scheduler ADDRESS Of a dask cluster" in text
    assert "--working-memory SIZE Such as 512M or 2G; a plain number is MiB." in text


@pytest.mark.parametrize(
    ("typed", "mib"),
    [("16", 16), ("512M", 512), ("2G", 2048), ("1.5g", 1536), ("64 MiB", 64), ("1TB", 2**20)],
)
def test_memory_is_read_in_mib(typed, mib):
    assert Memory().convert(typed, None, None) == mib


@pytest.mark.parametrize("typed", ["much", "", "-5", "1e3", "12X", "M", "nan", "15", "9M", "900K"])
@pytest.mark.parametrize("words", COMMANDS)
def test_no_memory_or_too_little_is_wrong_usage(words, typed):
    result = run(*words, f"--working-memory={typed}")
    assert result.exit_code == 2
    assert "error WB100: Invalid value for '--working-memory'" in result.stderr
    assert repr(typed) in result.stderr
    assert f"help: weighbridge {words[0]} --help" in result.stderr


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost",
        "tcp://localhost",
        "ftp://localhost:1",
        "tcp://:80",
        "a b:1",
        "h:0",
        "h:70000",
    ],
)
def test_what_is_no_address_is_wrong_usage(address):
    result = run(*WEIGHTS, f"--scheduler={address}")
    assert result.exit_code == 2
    text = " ".join(result.stderr.split())
    assert f"{address!r} is no address such as tcp://10.0.0.5:8786." in text


def test_a_scheduler_is_not_for_the_local_engine():
    result = run(*WEIGHTS, "--engine", "local", "--scheduler", "10.0.0.5:8786")
    assert result.exit_code == 2
    assert "error WB100: --scheduler belongs to dask" in result.stderr
    assert "help: --scheduler tcp://10.0.0.5:8786" in result.stderr
    assert run(*WEIGHTS, "--engine", "spark").exit_code == 2


# ------------------------------------------------------------------ what is not there


@pytest.mark.parametrize("package", ["dask", "distributed"])
def test_without_dask_its_package_is_named_before_the_work(here, tmp_path, package):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"sys.argv[1:] = {[*WEIGHTS, '--engine', 'dask', '--out', str(tmp_path / 'w.csv')]!r}\n"
        "from weighbridge.cli import main\n"
        "try: main()\n"
        "finally: print('numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=here
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error WB146: the package 'dask'")
    assert 'pip install "weighbridge[dask]"' in done.stderr
    assert done.stdout == "False\n"
    assert list(tmp_path.iterdir()) == []


def refused(words, *expected, code, exit_code=2):
    """Run a command that is refused by one finding, and leaves no file."""
    with tempfile.TemporaryDirectory() as place:
        result = run(*words, "--out", Path(place, "w.csv"), "--json")
        assert not list(Path(place).iterdir())
    assert result.exit_code == exit_code, result.stderr
    (finding,) = valid(result.stdout)["failure"]["findings"]
    assert finding["code"] == code
    text = " ".join(result.stderr.split())
    for each in expected:
        assert each in text
    assert "help: " in text
    assert "Traceback" not in text
    assert within_80_columns(result.stderr)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_a_scheduler_that_is_not_there_is_named_within_five_seconds(here):
    address = f"tcp://127.0.0.1:{free_port()}"
    begun = time.monotonic()
    refused(
        (*WEIGHTS, "--scheduler", address),
        f"dask's scheduler at {address} cannot be used: connection refused.",
        "--engine dask",
        code="WB150",
    )
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.0 400 Bad Request\r\n\r\n"])
def test_something_else_that_answers_is_told_from_a_scheduler_within_five_seconds(here, answer):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve():
            while True:
                try:
                    listener.accept()[0].sendall(answer)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        begun = time.monotonic()
        refused(
            (*PREDICT, "deploy.csv", "--scheduler", address),
            f"at {address} cannot be used: what answers there is no scheduler of dask.",
            code="WB150",
        )
        assert time.monotonic() - begun < 5
        listener.shutdown(socket.SHUT_RDWR)


def test_a_folder_where_dask_may_not_write_is_named(here, tmp_path, monkeypatch):
    # a file in the way of the folder stands in for a missing right, which root always has
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "spill"
    done, _ = alone(
        here,
        *WEIGHTS,
        "--engine=dask",
        f"--out={tmp_path / 'w.csv'}",
        env={**os.environ, "DASK_TEMPORARY_DIRECTORY": str(place)},
    )
    assert done.returncode == 2
    text = " ".join(done.stderr.split())
    assert "error WB148: dask cannot write into" in text
    assert "file/spill: Not a directory." in text
    assert "DASK_TEMPORARY_DIRECTORY=FOLDER" in text
    assert not (tmp_path / "w.csv").exists()


def test_a_folder_without_room_for_what_dask_spills_is_named(here, tmp_path):
    # a limit on the size of files stands in for a disk without room
    (tmp_path / "spill").mkdir()
    code = (
        "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"sys.argv[1:] = {[*WEIGHTS, '--engine', 'dask', '--out', str(tmp_path / 'w.csv')]!r}\n"
        "from weighbridge.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=here,
        env={**os.environ, "DASK_TEMPORARY_DIRECTORY": str(tmp_path / "spill")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )
    assert done.returncode == 2
    text = " ".join(done.stderr.split())
    assert "error WB148: dask cannot write into" in text
    assert "spill: File too large." in text
    assert not (tmp_path / "w.csv").exists()
    assert list((tmp_path / "spill").iterdir()) == []


# ------------------------------------------------------------------ memory


def test_a_block_has_the_rows_that_the_working_memory_has_room_for():
    assert Engine().block_rows(10_000) == MOST_ROWS
    assert Engine(16).block_rows(3) == 2**20 // (3 * 8)
    assert Engine(16).block_rows(1) == MOST_ROWS
    assert Engine(16).block_rows(10**9) == 1


def test_the_working_memory_holds_for_the_run_and_not_beyond():
    before = sklearn.get_config()["working_memory"]
    with started(Session([]), Asked(working_memory=77)):
        assert sklearn.get_config()["working_memory"] == 77
    assert sklearn.get_config()["working_memory"] == before


def test_a_smaller_working_memory_changes_no_prediction(here, tmp_path):
    tables = []
    for number, words in enumerate([(), ("--working-memory", "16M")]):
        out = tmp_path / f"{number}.csv"
        assert run(*PREDICT, "long.csv", "--out", out, *words).exit_code == 0
        tables.append(pd.read_csv(out))
    pd.testing.assert_frame_equal(*tables, rtol=1e-12)
    assert len(tables[0]) == 60_000


def test_scratch_folders_are_gone_after_their_block(tmp_path):
    with scratch(tmp_path / "a") as folder:
        folder.mkdir()
        (folder / "spilled").write_text("")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ the same bytes


def twice(words, cluster, tmp_path, name):
    """Run a command here and on the cluster; return the bytes of the table that each writes."""
    written = []
    for engine in ("local", "dask"):
        place = () if engine == "local" else ("--scheduler", cluster.scheduler_address)
        out = tmp_path / f"{engine}-{name}"
        result = run(*words, "--out", out, *place, "--force")
        assert result.exit_code == 0, result.output
        assert (f"2 workers, {cluster.scheduler_address}" in result.stderr) == (engine == "dask")
        written.append(out.read_bytes())
    return written


@pytest.mark.parametrize("memory", [(), ("--working-memory", "16M")])
@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_predictions_of_dask_are_those_of_one_process(here, tmp_path, cluster, name, memory):
    local, dask = twice((*PREDICT, "long.csv", *memory), cluster, tmp_path, name)
    assert local == dask
    assert len(local) > 100_000


@pytest.mark.parametrize("ratio", ["gaussian", "auto"])
def test_weights_of_dask_are_those_of_one_process(here, tmp_path, cluster, ratio, monkeypatch):
    # so that the long table counts as one that is too long to be fitted to as a whole
    monkeypatch.setattr(_weights, "MOST_TRAINING_ROWS", 400)
    words = ("weights", "long.csv", "deploy.csv", "--ratio", ratio)
    local, dask = twice(words, cluster, tmp_path, "w.csv")
    assert local == dask
    assert local.count(b"\n") == 60_001


def test_weights_of_rows_in_memory_are_the_same_too(here, tmp_path, cluster):
    words = (*WEIGHTS, "--working-memory", "16M")
    local, dask = twice(words, cluster, tmp_path, "w.csv")
    assert local == dask


def test_a_diagnosis_of_dask_is_that_of_one_process(here, cluster):
    found = []
    for words in ((), ("--scheduler", cluster.scheduler_address)):
        result = run("diagnose", "train.csv", "deploy.csv", "--json=full", *words)
        assert result.exit_code == 0
        found.append({**valid(result.stdout), "timing": None})
    assert found[0] == found[1]


def content(folder):
    """Return the files of a run, by name, without the seconds that it took."""
    found = {name: (folder / name).read_bytes() for name in FILES}
    assert sorted(each.name for each in folder.iterdir()) == FILES
    return found


def adapted(here, *words):
    """Run `adapt` as in the folder, with other words; return its files."""
    kept = content(here / "weighbridge-out")
    try:
        result = run(*ADAPT, *words)
        assert result.exit_code == 0, result.output
        return result, content(here / "weighbridge-out"), kept
    finally:
        for name, each in kept.items():
            (here / "weighbridge-out" / name).write_bytes(each)


def test_the_whole_job_on_dask_writes_the_bytes_of_one_process(here, cluster):
    result, there, local = adapted(here, "--scheduler", cluster.scheduler_address)
    assert f"  dask     2 workers, {cluster.scheduler_address}" in result.stderr
    assert there == local


# ------------------------------------------------------------------ workers come and go


def test_a_worker_that_is_killed_changes_no_byte_of_a_job(here, cluster):
    with Killer(cluster) as killer:
        _, there, local = adapted(here, "--scheduler", cluster.scheduler_address)
    assert killer.killed
    assert there == local


def test_a_worker_that_is_killed_changes_no_byte_of_predictions(here, tmp_path, cluster):
    words = (*PREDICT, "long.csv", "--working-memory", "16M")
    with Killer(cluster) as killer:
        local, dask = twice(words, cluster, tmp_path, "p.csv")
    assert killer.killed
    assert local == dask


@pytest.fixture
def engine(cluster):
    with started(Session(["--quiet"]), Asked("dask", cluster.scheduler_address)) as engine:
        yield engine


def test_a_task_that_kills_every_worker_is_given_up_in_words(cluster):
    with (
        pytest.raises(InputError, match="every worker that took it was killed") as caught,
        started(Session(["--quiet"]), Asked("dask", cluster.scheduler_address)) as engine,
    ):
        list(engine.map(lambda _: os.kill(os.getpid(), signal.SIGKILL), [0]))
    assert caught.value.exit_code == 3
    assert [each.code for each in caught.value.problems] == ["WB903"]


def test_blocks_come_back_in_order_and_few_are_under_way(engine):
    taken = []

    def blocks():
        for number in range(12):
            taken.append(number)
            yield number

    ahead = []
    for number, found in enumerate(engine.map(lambda each: each**2, blocks())):
        assert found == number**2
        ahead.append(len(taken) - number)
    assert len(ahead) == 12
    assert max(ahead) <= 2 * engine.n_workers


def test_an_error_in_a_worker_is_that_of_one_process(engine):
    problem = Problem("WB104", "text among numbers.", (), "correct it")

    def fail(block):
        raise InputError([problem])

    with pytest.raises(InputError, match="WB104") as caught:
        list(engine.map(fail, [0]))
    assert caught.value.problems == (problem,)
    with pytest.raises(ZeroDivisionError) as caught:
        list(engine.map(lambda each: 1 / each, [0]))
    assert "test_cli_engine.py" in str(caught.value.__cause__)  # where it came from is told


def test_a_module_that_workers_do_not_have_is_named(cluster, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def double(x): return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    with (
        pytest.raises(InputError, match="have no module 'only_here'") as caught,
        started(Session(["--quiet"]), Asked("dask", cluster.scheduler_address)) as engine,
    ):
        list(engine.map(only_here.double, [1]))
    assert [each.code for each in caught.value.problems] == ["WB149"]


def test_workers_of_other_versions_are_refused_with_both_of_them():
    with pytest.raises(InputError, match=r"there: 1\.26; here: 2\.0") as caught:
        _scheduler._compare("tcp://a:1", "numpy", "2.0", {"one": "2.0", "other": "1.26"})
    assert [each.code for each in caught.value.problems] == ["WB149"]
    with pytest.raises(InputError, match=r"there: none; here: 2\.0"):
        _scheduler._compare("tcp://a:1", "numpy", "2.0", {"one": PackageNotFoundError("numpy")})


def test_a_scheduler_without_workers_is_refused(here, monkeypatch):
    monkeypatch.setattr(_scheduler, "_WORKERS", 0.3)
    with small_cluster(n_workers=0) as empty:
        refused(
            (*WEIGHTS, "--scheduler", empty.scheduler_address),
            "cannot be used: no worker came within 0.3 s.",
            code="WB150",
        )


def where(_):
    """Return the process, its threads, and the memory that scikit-learn has there."""
    import threadpoolctl

    threads = max(each["num_threads"] for each in threadpoolctl.threadpool_info())
    return os.getpid(), threads, sklearn.get_config()["working_memory"]


def test_jobs_of_joblib_go_to_workers_with_one_thread_and_the_working_memory(cluster):
    asked = Asked("dask", cluster.scheduler_address, working_memory=55)
    with started(Session(["--quiet"]), asked) as engine:
        jobs = list(Parallel(n_jobs=1, return_as="generator")(delayed(where)(k) for k in range(6)))
        blocks = list(engine.map(where, range(6)))
        # a forest asks for threads: its trees are grown here, and in one order
        threads = Parallel(n_jobs=None, prefer="threads")(delayed(where)(k) for k in range(2))
    for pid, n_threads, memory in jobs + blocks:
        assert pid != os.getpid()
        assert (n_threads, memory) == (1, 55)
    assert {pid for pid, *_ in threads} == {os.getpid()}


# ------------------------------------------------------------------ a cluster of its own

OWN = """
import os, warnings
from sklearn.linear_model import LogisticRegression

class Own(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        with open(os.environ["PIDS"], "a") as file:
            file.write(f"{os.getpid()}\\n")
        warnings.warn("an own warning")
        return super().fit(X, y, sample_weight)
"""


def test_dask_by_itself_starts_two_workers_that_leave_nothing_behind(here, tmp_path, monkeypatch):
    (tmp_path / "own_here.py").write_text(OWN)
    (tmp_path / "spill").mkdir()
    for name in ("train.csv", "deploy.csv"):
        pd.read_csv(name)[[*COLUMNS[:2], *(["readmitted"] * (name == "train.csv"))]].to_csv(
            tmp_path / name, index=False
        )
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    environment = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(tmp_path / "spill")}
    words = (*ADAPT, "--model=own_here:Own", "--lam=0.5", "--alpha=1", "--ratio=gaussian")
    done, _ = alone(tmp_path, *words, "--engine=dask", "--jobs=2", env=environment)
    assert done.returncode == 0, done.stderr
    assert "  dask     2 workers, this computer" in done.stderr
    assert "of the libraries underneath (UserWarning)" in done.stderr
    assert "an own warning" not in done.stderr
    assert list((tmp_path / "spill").iterdir()) == []
    pids = {int(each) for each in (tmp_path / "pids").read_text().split()}
    assert len(pids) == 3  # the model is tried once in the command itself
    assert not any(Path("/proc", str(pid)).exists() for pid in pids)
    stored = json.loads((tmp_path / "weighbridge-out" / "result.json").read_text())
    assert stored["settings"]["jobs"] == 1  # workers are no jobs, and change nothing
    there = {name: (tmp_path / "weighbridge-out" / name).read_bytes() for name in FILES}
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert run(*words).exit_code == 0
    assert content(tmp_path / "weighbridge-out") == there


def test_an_interrupt_stops_a_cluster_within_a_second_and_leaves_nothing(here, tmp_path):
    (tmp_path / "spill").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "weighbridge", *ADAPT, "--engine=dask", f"--out={tmp_path / 'out'}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=here,
        env={**os.environ, "DASK_TEMPORARY_DIRECTORY": str(tmp_path / "spill")},
        start_new_session=True,
    )
    for line in process.stderr:
        if line.startswith("  label"):
            break
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the workers too
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - begun < 6  # one second; the rest is for a busy machine
    assert process.returncode == 130
    assert out == ""
    assert err.startswith("interrupted during shift\n")
    assert "Traceback" not in err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["spill"]
    assert list((tmp_path / "spill").iterdir()) == []
