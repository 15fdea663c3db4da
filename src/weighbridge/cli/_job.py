"""The whole job at the command line, shared by ``adapt`` and ``demo``."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weighbridge import __version__
from weighbridge._files import RUN_FILES, check_outputs
from weighbridge._problem import cli_option
from weighbridge.cli._engine import Asked, started
from weighbridge.cli._fail_if import failed_conditions
from weighbridge.cli._inputs import check_there
from weighbridge.cli._libraries import library_warnings, modules_here
from weighbridge.cli._said import label_text, size_text, workload_text
from weighbridge.cli._session import Session

if TYPE_CHECKING:
    from weighbridge._tables import Pair, Table
    from weighbridge.adaptation import Adaptation
    from weighbridge.verdict._workload import Workload

_USAGE = "weighbridge adapt train.csv deploy.csv --label y"
_LABELS_KNOWN = "  The deployment file has labels (set aside until now):"
# Folders with the searches of a run that has not ended.
_UNFINISHED = "unfinished-"


class Job:
    """One run from two files to four.

    Parameters
    ----------
    session : Session
        Streams and narration.
    train, deploy : Path
        The two tables.
    settings : dict
        Arguments of `weighbridge.adaptation._settings.Settings`.
    out : Path
        Folder of the files.
    force : bool
        Overwrite files that weighbridge did not write.
    engine : Asked, optional
        Where the fits are done; by default here.
    """

    def __init__(
        self,
        session: Session,
        train: Path,
        deploy: Path,
        settings: dict[str, Any],
        out: Path,
        *,
        force: bool,
        engine: Asked | None = None,
    ):
        self.session = session
        self.train, self.deploy, self.out = train, deploy, out
        self.settings, self.force = settings, force
        self.engine = engine or Asked()
        self._n_jobs = settings["n_jobs"]
        self.files: dict[str, str] = {}
        self.result: dict[str, Any] = {}
        self.adaptation: Adaptation

    def check(self) -> None:
        """Refuse missing files, and outputs that cannot be written, before any heavy import."""
        inputs = [self.train, self.deploy]
        check_there(inputs, _USAGE)
        check_outputs(
            [self.out / name for name in RUN_FILES.values()], force=self.force, inputs=inputs
        )

    def compute(self) -> None:
        """Do the work; nothing is written but the journals of searches."""
        session, journal = self.session, self._journal()
        session.on_interrupt = lambda: _kept(journal)
        own = any(":" in each for each in self.settings["models"])
        from weighbridge.adaptation._adapt import run
        from weighbridge.adaptation._settings import Settings

        with (
            library_warnings(session),
            modules_here(wanted=own),
            started(session, self.engine) as engine,
        ):
            self._n_jobs = engine.n_workers or self._n_jobs
            self.adaptation = run(
                str(self.train),
                str(self.deploy),
                Settings(**self.settings),
                # workers elsewhere have no such folder
                journal=None if self.engine.scheduler else journal.absolute(),
                progress=session.narration,
                option=cli_option,
                command=session.command or "adapt",
                on_read=self._say_read,
                announce=self._announce,
            )

    def _say_read(self, tables: tuple[Table, Table], pair: Pair) -> None:
        """Say what was read and what it was taken for, before the work begins."""
        narration = self.session.narration
        narration.detail("read", size_text(tables))
        narration("shift", 0, 1)
        narration.say(f"  label    {label_text(self.settings, pair)}")

    def _announce(self, work: Workload) -> None:
        """Say how long a slow model will take, before it starts."""
        from joblib import cpu_count

        said = workload_text(work, self._n_jobs, cpu_count())
        if said is not None:
            self.session.narration.say(f"  {said}")

    def save(self) -> None:
        """Write the four files."""
        from weighbridge.adaptation._save import save

        narration = self.session.narration
        narration.detail("write", f"{self.out}/")
        narration("write", 0, 1)
        self.files = save(self.adaptation, self.out, force=self.force, option=cli_option)
        narration.finish()
        _remove_journals(self.out)
        timing = self.session.timing()
        self.result = {**self.adaptation.to_dict(), "files": self.files, "timing": timing}

    def show(self, *, now: str, known: str = _LABELS_KNOWN) -> None:
        """Print the result: JSON, or the block for people.

        Parameters
        ----------
        now : str
            What to type next.
        known : str
            What introduces the actual errors, where there are any.
        """
        from weighbridge.cli._verdict_screen import actual_block, files_block, verdict_block

        session = self.session
        if session.json is not None:
            session.print_json(self.result)
            return
        actual, verdict = actual_block(self.adaptation), self.adaptation.verdict
        parts = [
            verdict_block(self.adaptation, session.out),
            *([f"{known}\n{actual}"] if actual else []),
            files_block(self.files, verdict.candidate(verdict.use)),
            f"  {now}",
        ]
        session.out.write("\n" + "\n\n".join(parts))

    def open_report(self) -> None:
        """Open the page in the browser."""
        click.launch(str(Path(self.files["report"]).absolute()))

    def fail_if(self, conditions: tuple[str, ...]) -> int:
        """Return the exit code, and name the conditions that are true."""
        found = failed_conditions(conditions, self.result)
        for line in found:
            self.session.err.write(line)
        return 1 if found else 0

    def _journal(self) -> Path:
        """Return the folder in which searches of just this run are kept until it ends."""
        stats = [path.stat() for path in (self.train, self.deploy)]
        about = [
            __version__,
            sorted(self.settings.items()),
            [(path.st_size, path.st_mtime_ns) for path in stats],
            [str(path.absolute()) for path in (self.train, self.deploy)],
        ]
        key = hashlib.sha256(repr(about).encode()).hexdigest()[:12]
        return self.out / f"{_UNFINISHED}{key}"


def _kept(journal: Path) -> list[str]:
    if journal.is_dir() and any(journal.iterdir()):
        return [
            f"finished fits of the search are kept in {journal}",
            "the same command goes on from there",
        ]
    return ["no file was written; the same command starts again"]


def _remove_journals(out: Path) -> None:
    """Remove what unfinished runs have left in the folder; it is of no use any more."""
    for folder in out.glob(f"{_UNFINISHED}*"):
        if folder.is_dir() and all(each.suffix == ".jsonl" for each in folder.iterdir()):
            shutil.rmtree(folder)
