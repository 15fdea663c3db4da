"""Build the sdist and the wheel into dist/, and use them as a stranger would.

``python tools/dist.py`` builds twice (the same bytes must come out), checks the metadata and the
contents, installs the wheel with its command line in an empty environment, runs the demo from
there outside the checkout, measures what starting costs, writes a list of all parts (SBOM,
CycloneDX) and asks whether one of them has a known hole. It stops at the first bar that is missed.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
MEGABYTE, IMPORT_SECONDS, HELP_SECONDS = 1_000_000, 0.15, 0.2
# what whoever packages weighbridge needs to run its tests
NEEDED = ("pyproject.toml", "hatch_build.py", "tests/conftest.py", "tests/report_golden.txt")
NEEDED += ("docs/api.rst", "README.md", "CHANGELOG.md", "CITATION.cff", "experiments/__init__.py")
NEEDED += ("benchmarks/__init__.py", "tools/house.py", "LICENSE", "Makefile")


def run(*command: object, **options: object) -> subprocess.CompletedProcess:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done


def bar(name: str, value: float, most: float, unit: str) -> None:
    print(f"  {name:<24} {value:.3f} {unit} (at most {most:g})")
    if value > most:
        raise SystemExit(f"{name} is over its bar")


def build(folder: Path) -> list[Path]:
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True
    )
    # the date of the commit; without git, that of the oldest file a zip can hold
    moment = os.environ.get("SOURCE_DATE_EPOCH") or commit.stdout.strip() or "315532800"
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT,
        env=os.environ | {"SOURCE_DATE_EPOCH": moment})  # fmt: skip
    return sorted(folder.iterdir(), key=lambda path: path.suffix)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cpu_seconds(*command: object) -> float:
    """Return the least of five runs, user and system: other work on the machine only adds."""
    run(*command)  # compiled once
    seconds = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(*command)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def check_files(sdist: Path, wheel: Path) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    run(Path(sys.executable).with_name("check-wheel-contents"), wheel)
    bar("wheel", wheel.stat().st_size / MEGABYTE, 1, "MB")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if missing := set(NEEDED) - names:
        raise SystemExit(f"{sdist.name} lacks {', '.join(sorted(missing))}")
    print(f"  {'sdist':<24} {sdist.stat().st_size / MEGABYTE:.3f} MB, {len(names)} files")


def use(wheel: Path, folder: Path) -> Path:
    """Install the wheel where nothing else is, and do the whole job with it."""
    venv.create(folder / "environment", with_pip=True)
    python = folder / "environment/bin/python"
    run(python, "-m", "pip", "install", "--disable-pip-version-check", f"{wheel}[cli]")
    run(python, "-m", "pip", "check")
    command = python.with_name("weighbridge")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    said = run(command, "demo", cwd=elsewhere).stdout.strip().splitlines()
    page = elsewhere / "weighbridge-demo/report.html"
    print(f"  demo: {said[0].strip() if said else ''} ({page.stat().st_size / MEGABYTE:.2f} MB)")
    version = run(command, "--version", cwd=elsewhere).stdout.strip()
    if version.split()[1] != wheel.name.split("-")[1]:
        raise SystemExit(f"{wheel.name} says it is {version}")
    bar("import weighbridge", cpu_seconds(python, "-c", "import weighbridge"), IMPORT_SECONDS, "s")
    bar("weighbridge --help", cpu_seconds(command, "--help"), HELP_SECONDS, "s")
    return python


def list_parts(python: Path, wheel: Path) -> None:
    # pip is the installer's, not a part
    run(python, "-m", "pip", "uninstall", "--yes", "pip", "setuptools")
    parts = DIST / f"{wheel.name.split('-py3')[0]}.cdx.json"
    run(sys.executable, "-m", "cyclonedx_py", "environment", python, "--output-reproducible",
        "--output-format", "JSON", "--output-file", parts)  # fmt: skip
    found = json.loads(parts.read_text(encoding="utf-8"))
    for part in found["components"]:
        # where this machine got the wheel is nobody's business
        part.pop("externalReferences", None)
    parts.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"  {parts.name}: {len(found['components'])} parts")


def audit(python: Path) -> None:
    """Ask for known holes; where nobody answers, say so, and stop if an answer was required."""
    packages = next(python.parents[1].glob("lib/python*/site-packages"))
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", "--path", str(packages), "--format", "json",
         "--timeout", "10", "--progress-spinner", "off"],
        capture_output=True, text=True,
    )  # fmt: skip
    try:
        asked = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        asked = []
    # an index that does not answer for a package makes pip-audit skip it, and pass
    asked = [one for one in asked if one["name"] != "weighbridge"]
    skipped = [one["skip_reason"] for one in asked if "skip_reason" in one]
    holes = [f"{one['name']} {one['version']}" for one in asked if one.get("vulns")]
    if holes:
        raise SystemExit(f"known holes in: {', '.join(holes)}\n{done.stderr}")
    if asked and not skipped:
        print(f"  audited: no known hole in {len(asked)} packages")
        return
    reason = [*skipped, *done.stderr.strip().splitlines()[-1:], "no answer"][0]
    lacking = f"{len(skipped) or 'any'} of {len(asked)} packages"
    print(f"  NOT AUDITED: no answer for {lacking} ({reason})")
    if os.environ.get("WEIGHBRIDGE_AUDIT") == "required":
        raise SystemExit("an audit was required")


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sdist, wheel = build(DIST)
        print(sdist.name, wheel.name, sep="\n")
        if [digest(path) for path in build(folder / "again")] != [digest(sdist), digest(wheel)]:
            raise SystemExit("a second build gave other bytes")
        print("  built twice, the same bytes")
        check_files(sdist, wheel)
        python = use(wheel, folder)
        list_parts(python, wheel)
        audit(python)


if __name__ == "__main__":
    main()
