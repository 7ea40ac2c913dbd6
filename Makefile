# Every target makes what it needs in .venv. `make demo` shows something, `make test` checks everything fast.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test check deep clean

demo: $(READY)
	$(BIN)/valid-ref run --graph paper --rounds 200
	$(BIN)/valid-ref run --graph paper --rounds 200 --byzantine 4 --attack benign:fraction=0.5

test: $(READY)
	$(BIN)/python -m pytest -n auto

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/valid-ref trace --check

deep: $(READY)
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest -n auto -m "deep or not deep"
	$(BIN)/python tests/mutation/run.py --write spec/mutants.md

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
