"""The whole job where things are as on Windows and macOS: names, encodings, locks, processes."""

import errno
import json
import os
import select
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from cli_runs import run, valid, write_clinic
from weighbridge._files import check_outputs
from weighbridge._findings import shown_progress
from weighbridge.exceptions import InputError

# as most keyboards write it, and as macOS may store it
NAMES = [unicodedata.normalize(form, "Größe à côté (1)") for form in ("NFC", "NFD")]
# What Python on Windows or macOS does not have; run by every child before anything else.
WITHOUT_POSIX = """
import os, signal, sys
for name in ("chown", "fchmod", "fchown", "getuid", "geteuid", "getgid", "getegid", "getloadavg",
             "lchown", "mkfifo", "sched_getaffinity", "statvfs"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "alarm", "pthread_sigmask"):
    delattr(signal, name)
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
"""
# Ours may not leave an encoding to the place; the command resets filters to count the warnings of
# others, and must not reset this one.
ENCODINGS = """
import warnings
warnings.filterwarnings("error", category=EncodingWarning, module="weighbridge")
warnings.simplefilter = lambda *arguments, **options: None
"""
C_LOCALE = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
CONSOLE = {"PYTHONIOENCODING": "cp1252"}
PLACES = {
    "windows": ({**CONSOLE, "PYTHONWARNDEFAULTENCODING": "1"}, WITHOUT_POSIX + ENCODINGS),
    "c-locale": (C_LOCALE, ""),
    "utf-8": ({"PYTHONUTF8": "1", "PYTHONWARNDEFAULTENCODING": "1"}, ENCODINGS),
}


def called(folder, words, environment=None, first=""):
    """Run a command as users do, after a piece of Python; return what it wrote."""
    start = folder.parent / "first"
    start.mkdir(exist_ok=True)
    (start / "sitecustomize.py").write_text(first, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "weighbridge", *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(start), **(environment or {})},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("windows", NAMES[1]),
        pytest.param("c-locale", NAMES[0], marks=pytest.mark.more),
        pytest.param("utf-8", NAMES[0], marks=pytest.mark.more),
    ],
    ids=["windows", "c-locale", "utf-8"],
)
def test_the_whole_job_in_other_places_writes_what_it_writes_here(tmp_path, place, name):
    folder, environment, first = tmp_path / name, *PLACES[place]
    folder.mkdir()
    write_clinic(folder, 120, 100)
    pair, out = ("train.csv", folder / "deploy.csv"), folder / "my out"
    encoding = {"windows": "cp1252", "c-locale": "ascii"}.get(place, "utf-8")

    def said(*words):
        done = called(folder, words, environment, first)
        assert done.stderr.decode(encoding)
        return done.stdout.decode(encoding)

    shown = said("adapt", *pair, "--label", "readmitted", "--out", out.name)
    assert f"Now:  weighbridge predict 'my out{os.sep}model.skops' DATA" in shown
    said("report", out / "result.json", "--out", "again.html")
    # a path comes back from JSON as it was, whatever the console can write
    if place != "windows":
        result = valid(said("diagnose", *pair, "--report", "page.html", "--json"))
        assert os.fsencode(result["inputs"]["deploy"]["file"]) == os.fsencode(pair[1])
        said("predict", out / "model.skops", pair[1], "--out", "p.parquet")
        assert (folder / "p.parquet").stat().st_size > 1000
    result = valid((out / "result.json").read_text(encoding="utf-8"))
    assert os.fsencode(result["inputs"]["deploy"]["file"]) == os.fsencode(pair[1])
    # no line ends of Windows, and not another number
    for file in (out / "weights.csv", out / "result.json", folder / "again.html"):
        assert b"\r" not in file.read_bytes()
    said("weights", *pair, "--out", "w.csv")
    for table in ("train.csv", "deploy.csv"):
        shutil.copy(folder / table, tmp_path)
    run(
        "weights",
        *(tmp_path / each for each in ("train.csv", "deploy.csv")),
        "--out",
        out / "w.csv",
    )
    assert (folder / "w.csv").read_bytes() == (out / "w.csv").read_bytes()


SPAWNED = """
import json, multiprocessing, sys
import pandas as pd
from sklearn.svm import SVC
import weighbridge

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    train, deploy = (pd.read_csv(each) for each in ("train.csv", "deploy.csv"))
    settings = {"label": "readmitted", "model": "svm", "ratio": "gaussian", "lam": 0.5, "alpha": 1}
    found = [weighbridge.adapt(train, deploy, **settings, n_jobs=n) for n in (1, 2)]
    print(json.dumps([each.to_dict(full=False)["expect"]["candidates"] for each in found]))
"""


@pytest.mark.more
def test_processes_that_are_spawned_find_what_one_process_finds(tmp_path):
    write_clinic(tmp_path, 120, 100)
    (tmp_path / "script.py").write_text(SPAWNED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr.decode()
    one, two = json.loads(done.stdout)
    assert one == two


@pytest.mark.more
def test_parallel_jobs_work_in_a_folder_with_letters_of_its_own(tmp_path):
    folder = tmp_path / NAMES[1]
    (folder / "tmp é").mkdir(parents=True)
    write_clinic(folder, 120, 100)
    words = ["adapt", "train.csv", "deploy.csv", "--label", "readmitted", "--model", "svm"]
    words += ["--ratio", "gaussian", "--lam", "0.5", "--alpha", "1", "--json", "--jobs"]
    one, two = (json.loads(called(folder, [*words, n]).stdout)["expect"] for n in (1, 2))
    assert one["candidates"] == two["candidates"]
    # joblib 1.6 fails where its temporary files are in such a folder, as of a user called Jörg
    place = {**os.environ, "JOBLIB_TEMP_FOLDER": str(folder)}
    command = [sys.executable, "-m", "weighbridge", *words, "2"]
    done = subprocess.run(command, cwd=folder, env=place, capture_output=True, check=False)
    if done.returncode != 0:
        assert done.returncode == 2
        assert b"parallel jobs need a folder for temporary files" in done.stderr


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="nothing else here refuses to be written")
def test_a_reader_that_has_gone_is_known_by_the_error_of_windows_too(tmp_path):
    # Windows says EINVAL where others say EPIPE; so does Linux, of what can only be waited at
    with select.epoll() as waiting:
        with pytest.raises(OSError, match="Invalid argument") as raised:
            os.write(waiting.fileno(), b"text")
        assert raised.value.errno == errno.EINVAL
        done = subprocess.run(
            [sys.executable, "-m", "weighbridge", "explain", "WB301"],
            stdout=waiting.fileno(),
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/proc/self/exe").exists(), reason="needs a program that runs")
def test_on_windows_a_file_that_is_open_elsewhere_is_refused_before_the_work(tmp_path, monkeypatch):
    # a program that runs cannot be opened for writing, as on Windows a table that a program shows
    held = tmp_path / "weights.csv"
    shutil.copy(shutil.which("sleep"), held)
    with subprocess.Popen([held, "60"]) as process:
        try:
            check_outputs([held], force=True)  # elsewhere a file is replaced all the same
            monkeypatch.setattr(sys, "platform", "win32")
            check_outputs([tmp_path / "new.csv"], force=True)
            with pytest.raises(
                InputError, match=r"is read-only, or open in another program\."
            ) as e:
                check_outputs([held], force=True)
        finally:
            process.kill()
    assert "close it there, or --out OTHER" in str(e.value)
    check_outputs([held], force=True)


def test_a_root_or_a_drive_is_no_place_for_a_file(tmp_path):
    with pytest.raises(InputError, match="is a folder, but a file is to be written there"):
        check_outputs([Path(tmp_path.anchor)], force=True)


def test_a_program_without_streams_is_shown_no_progress(monkeypatch):
    # as under pythonw
    monkeypatch.setattr(sys, "stderr", None)
    assert shown_progress(True) is None
    assert shown_progress(None) is None
