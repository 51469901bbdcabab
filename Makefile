# Two commands do all the set-up: `make demo` and `make test`. Both make .venv themselves, with Python 3.10 or newer:
# `make demo PYTHON=python3.12` chooses which.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Tests in two processes, each with one thread of torch; how many cores there are changes nothing in a result.
PYTEST := $(BIN)/python -m pytest
PARALLEL := -n 2 --dist loadgroup

.PHONY: demo test lint test-fast test-serial test-core test-rounding test-full bits bits-compare hostile fuzz faults docs dist release-check format bench clean
.DEFAULT_GOAL := demo

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install -q -c constraints.txt -e '.[demo]'
	@touch $@

.venv/.installed-test: .venv/.installed
	$(PIP) install -q -c constraints.txt -e '.[test]'
	@touch $@

demo: .venv/.installed
	$(BIN)/tellapart demo

test: lint test-fast test-serial

lint: .venv/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-fast: .venv/.installed-test
	$(PYTEST) $(PARALLEL) -m "not full and not serial"

# What measures time or memory has the machine for itself.
test-serial: .venv/.installed-test
	$(PYTEST) -m "serial and not full"

# What needs only the core install, in an environment that has nothing else but pytest: no torch, no pyarrow.
# tests/test_core_install.py checks that these files import nothing else.
CORE_TESTS := tests/_util tests/cli/test_errors.py tests/cli/test_paths.py \
	tests/data/test_content.py tests/data/test_numerals.py tests/data/test_shared.py tests/engine/test_rows.py \
	tests/learning/test_splits.py tests/omnibus/test_bins.py tests/omnibus/test_components.py \
	tests/omnibus/test_contrasts.py tests/omnibus/test_distance.py tests/omnibus/test_ranks.py \
	tests/omnibus/test_scores.py tests/omnibus/test_sums.py tests/omnibus/test_test.py tests/promises/test_naming.py \
	tests/stats/test_design.py tests/stats/test_permutations.py tests/test_without_torch.py
CORE_DOCTESTS := $(addprefix src/tellapart/,_util data engine omnibus criticism twosample)

.venv-core/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-core
	.venv-core/bin/python -m pip --disable-pip-version-check install -q -c constraints.txt -e . pytest
	@touch $@

test-core: .venv-core/.installed
	.venv-core/bin/python -m pytest -m "not full and not serial" --doctest-ignore-import-errors \
		--ignore=src/tellapart/data/datasets.py $(CORE_TESTS) $(CORE_DOCTESTS)

# Golden values, bits and every number shown in the documentation, with the rounding of another kind of processor.
test-rounding: .venv/.installed-test
	ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE OPENBLAS_CORETYPE=Nehalem $(PYTEST) $(PARALLEL) -m "not full and not serial" \
		tests/twosample/test_golden_values.py tests/stats/test_golden.py tests/engine tests/test_docs.py src docs README.md

# Whether a change of the code changes a result: `make bits` before it, `make bits-compare` after it, on one machine.
BITS ?= build/bits.json
bits: .venv/.installed-test
	$(BIN)/python tests/twosample/bits.py write $(BITS)

bits-compare: .venv/.installed-test
	$(BIN)/python tests/twosample/bits.py compare $(BITS)

test-full: .venv/.installed-test
	$(PYTEST) $(PARALLEL) -m "not serial"
	$(PYTEST) -m serial

# The attack: a table of bad inputs with what each gets; random damage for so many seconds; kills, full disks and races.
SECONDS ?= 60
SHARE ?= 1
hostile: .venv/.installed-test
	$(BIN)/python tests/hostile/test_table.py

fuzz: .venv/.installed-test
	$(BIN)/python tests/hostile/fuzz.py --seconds $(SECONDS) --seed $$(date +%s) --keep build/fuzz

faults: .venv/.installed-test
	$(BIN)/python tests/hostile/faults.py --share $(SHARE)

# Warnings are errors, and links between pages are followed. The site is docs/_build/html/index.html and needs no network.
docs: .venv/.installed-test
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

dist: .venv/.installed-test
	$(BIN)/python -m hatchling build

# Installs what `make dist` made, and each extra, into environments of their own: minutes, and a package index.
release-check: dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tests/clean_installs.py dist

format: .venv/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.installed-test
	$(BIN)/python benchmarks/engine.py

clean:
	rm -rf .venv .venv-core build dist docs/_build docs/auto_gallery
