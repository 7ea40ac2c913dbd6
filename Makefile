# Every target makes what it needs in .venv. `make demo` shows something, `make test` checks everything fast.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check docs deep bench coq coq-oracle clean

demo: $(READY)
	$(BIN)/valid-ref demo -o demo.html

test: $(READY)
	$(BIN)/python -m pytest -n auto

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/valid-ref trace --check
	$(BIN)/valid-ref vectors --check

docs: $(VENV)/.ready-docs
	rm -rf build/site
	$(BIN)/python -m sphinx --jobs 2 --quiet --fresh-env --fail-on-warning --keep-going -c docs/site . build/site
	$(BIN)/python docs/site/check.py build/site
	@echo "open build/site/index.html"

deep: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,fuzz]"
	$(BIN)/python -m tests.deep --write docs/tables/deep.md

bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,bench]"
	$(BIN)/python -m benchmarks

coq:
	@if command -v coqc >/dev/null; then $(MAKE) -C proofs_check/coq check; \
	elif [ "$(COQ_REQUIRED)" = 1 ]; then echo "coq: coqc is missing and COQ_REQUIRED=1"; exit 1; \
	else echo "coq: SKIPPED, coqc is not installed (what to install: proofs_check/coq/README.md)"; fi

coq-oracle: $(READY)
	@if command -v coqc >/dev/null && command -v ocamlfind >/dev/null; then \
	  $(MAKE) -C proofs_check/coq oracle PYTHON=$(abspath $(BIN)/python); \
	elif [ "$(COQ_REQUIRED)" = 1 ]; then echo "coq-oracle: coqc or ocamlfind is missing"; exit 1; \
	else echo "coq-oracle: SKIPPED, coqc or ocamlfind is not installed"; fi

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

$(VENV)/.ready-docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,docs]"
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
