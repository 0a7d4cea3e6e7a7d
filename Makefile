# `make demo` and `make test` are all a fresh machine needs: each makes its own environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TEST_DEPS := $(VENV)/.test
DEMO_DEPS := $(VENV)/.demo
DOCS_DEPS := $(VENV)/.docs
ENGINES_DEPS := $(VENV)/.engines
TORCH ?= torch
JOBS ?= 2
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.PHONY: demo test lint types quick slow exports docs papers papers-quick speed beyond effect clicks fuzz clean

demo: $(DEMO_DEPS)
	$(BIN)/gramian demo

test: lint types quick

lint: $(TEST_DEPS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TEST_DEPS)
	$(BIN)/mypy

quick: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --durations 15

slow: $(TEST_DEPS)
	$(BIN)/python -m pytest -m slow

# The engines that `make test` leaves out: Postgres, LanceDB, Milvus, hnswlib, torch, sentence-transformers.
# `make exports TORCH='torch==VERSION+cpu'` installs a smaller torch where the index has one.
exports: $(ENGINES_DEPS)
	$(ONE_THREAD) $(BIN)/python -m pytest tests/export -m engines --durations 10 $(ARGS)

docs: $(DOCS_DEPS)
	rm -rf docs/generated
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

papers: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.papers --jobs $(JOBS) $(ARGS)

papers-quick: ARGS += --quick
papers-quick: papers

beyond: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.beyond $(ARGS)

speed: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.speed $(ARGS)

effect: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.effect --jobs $(JOBS) $(ARGS)

clicks: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.serve $(ARGS)

fuzz: $(TEST_DEPS) $(VENV)/fuzz/bin/schemathesis
	$(ONE_THREAD) PYTHONPATH=src:. $(BIN)/python -m tests.service.fuzz $(VENV)/fuzz/bin/schemathesis $(ARGS)

$(VENV)/fuzz/bin/schemathesis:
	$(PYTHON) -m venv $(VENV)/fuzz
	$(VENV)/fuzz/bin/python -m pip install --quiet schemathesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(DEMO_DEPS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[cli,plot]'
	touch $@

$(TEST_DEPS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@ $(DEMO_DEPS)

$(ENGINES_DEPS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet '$(TORCH)'
	$(BIN)/python -m pip install --quiet --editable '.[engines]'
	touch $@ $(TEST_DEPS) $(DEMO_DEPS)

$(DOCS_DEPS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@ $(DEMO_DEPS)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache docs/_build docs/generated docs/gallery
