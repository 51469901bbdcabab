# Two commands do all the set-up: `make demo` and `make test`. Both make .venv themselves.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test test-full format bench clean
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

test: .venv/.installed-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -m "not full"

test-full: .venv/.installed-test
	$(BIN)/python -m pytest

format: .venv/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.installed-test
	$(BIN)/python benchmarks/engine.py

clean:
	rm -rf .venv build dist
