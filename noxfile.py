#!/usr/bin/env python3
# /// script
# dependencies = ["nox>=2025.2"]
# ///
"""The checks for whoever has no make, as on Windows: ``pip install nox``, then ``nox -s test``."""

import nox

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "venv"
# as in the Makefile
TESTS = "not more and not slow and not torch and not browser and not engines"


def install(session, group, *more):
    """Install the package and a group of tools."""
    session.install("--upgrade", "pip>=25.1")  # the first that knows groups
    session.install("--editable", ".", "--group", group, *more)


def run_tests(session, *words, marks=TESTS):
    """Run tests, those of `make test` unless told otherwise, one process per core."""
    alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    words = ("-m", marks, *words, *session.posargs)
    several = ("-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder")
    session.run("python", "-m", "pytest", *several, *words, env=alone)


@nox.session
def test(session):
    """Every law, error message and docstring: what to run after a change."""
    install(session, "test")
    run_tests(session)


@nox.session(default=False)
def pages(session):
    """The examples of README.md and of the pages in docs, which `make test-more` runs too."""
    install(session, "test")
    run_tests(session, "README.md", "docs", marks="not torch")  # none of these is marked `more`


@nox.session(default=False)
def oldest(session):
    """The same with the oldest supported dependencies (Python 3.11 or 3.12)."""
    install(session, "oldest")
    run_tests(session, "tests")


@nox.session(default=False)
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


@nox.session(default=False)
def docs(session):
    """Build the site into docs/_build/html."""
    # torch without CUDA is enough: PIP_EXTRA_INDEX_URL may name an index of CPU builds
    install(session, "docs", "torch==2.13.0", "skorch>=1.2", "mnist1d>=0.0.2")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "docs", "docs/_build/html")


if __name__ == "__main__":
    nox.main()
