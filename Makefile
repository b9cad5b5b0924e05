# make demo: see an agent go wrong. make test: the tests. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test e2e lint types check bench soak docs lock clean

demo: $(READY)
	@$(BIN)/attest-otel demo

test: $(READY)
	$(BIN)/python -m pytest -q --ignore=tests/benchmarks

e2e: $(READY)
	$(BIN)/python -m tests.e2e.build
	$(BIN)/python -m pytest tests/e2e -m e2e -q -p no:randomly --timeout=300

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

check: lint types test

bench: $(READY)
	$(BIN)/python -m pytest tests/benchmarks --benchmark-only -q

soak: $(READY)
	$(BIN)/python -m pytest tests/benchmarks -m slow -q --timeout=1200

$(READY): pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --retries 5 --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $(READY)

# Write the README's reference tables again, after a change of attributes, metrics or limits.
docs: $(READY)
	$(BIN)/python -m tests.generate_tables

# Pin every dependency with its hashes again, after a change of pyproject.toml.
lock:
	uv pip compile --quiet --extra dev --universal --generate-hashes --no-header --no-emit-index-url \
		--python-version 3.11 --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .benchmarks .hypothesis
