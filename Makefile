# make demo: see an agent go wrong. make test: the tests. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test e2e lint types check bench soak oldest docs lock clean

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

# The tests that need no newer SDK, with the oldest versions that pyproject.toml promises, in an environment of their own.
OLDEST := .venv-oldest
oldest: pyproject.toml tests/oldest.txt
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --quiet --disable-pip-version-check --retries 5 --constraint tests/oldest.txt --editable . \
		'backports.zstd>=1' 'brotli>=1.2' 'hypothesis>=6.120' 'pytest>=8.3' 'pytest-randomly>=3.16' 'pytest-timeout>=2.3' 'trio>=0.27'
	$(OLDEST)/bin/python -m pytest -q -p no:cacheprovider tests/live tests/export tests/read tests/record tests/checks tests/judge \
		tests/reliability/test_bounds.py tests/reliability/test_gate.py tests/reliability/test_harmless.py --deselect tests/judge/test_anthropic_judge.py::test_what_is_sent

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
	rm -rf $(VENV) $(OLDEST) .mypy_cache .pytest_cache .ruff_cache .benchmarks .hypothesis
