# `make demo` and `make test` are all a fresh machine needs: each makes its own environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TEST_DEPS := $(VENV)/.test
DEMO_DEPS := $(VENV)/.demo
JOBS ?= 2

.PHONY: demo test lint types quick slow papers speed clean

demo: $(DEMO_DEPS)
	$(BIN)/gramian demo

test: lint types quick

lint: $(TEST_DEPS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TEST_DEPS)
	$(BIN)/mypy

quick: $(TEST_DEPS)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --durations 15

slow: $(TEST_DEPS)
	$(BIN)/python -m pytest -m slow

papers: $(TEST_DEPS)
	$(BIN)/python -m benchmarks.papers

speed: $(TEST_DEPS)
	$(BIN)/python -m benchmarks.speed

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(DEMO_DEPS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[cli,plot]'
	touch $@

$(TEST_DEPS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@ $(DEMO_DEPS)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
