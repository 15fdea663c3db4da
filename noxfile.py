"""The checks for whoever has no make, as on Windows: ``pip install nox``, then ``nox -s test``."""

import nox

nox.needs_version = ">=2025.2"
nox.options.sessions = ["lint", "test"]
# as in the Makefile
TESTS = "not more and not slow and not torch and not browser and not engines"


def install(session, group, *more):
    session.install("--upgrade", "pip>=25.1")  # the first that knows groups
    session.install("--editable", ".", "--group", group, *more)


def run_tests(session, *words):
    alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    several = ("-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder")
    session.run("python", "-m", "pytest", *several, "-m", TESTS, *words, *session.posargs, env=alone)


@nox.session
def test(session):
    """Every law, error message and public doctest: what to run after a change."""
    install(session, "test")
    run_tests(session)


@nox.session
def oldest(session):
    """The same with the oldest supported dependencies (Python 3.11 or 3.12)."""
    install(session, "oldest")
    run_tests(session, "tests")


@nox.session
def nightly(session):
    """The same with what the dependencies are about to release."""
    install(session, "test")
    session.install("--pre", "--upgrade", "numpy", "scipy", "scikit-learn", "pandas", "narwhals")
    run_tests(session, "tests")


@nox.session
def lint(session):
    """Run ruff, mypy and import-linter."""
    install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session
def docs(session):
    """Build the site into docs/_build/html."""
    install(session, "docs", "torch==2.13.0", "skorch>=1.2", "mnist1d>=0.0.2")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "docs", "docs/_build/html")
