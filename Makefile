# Everything sets itself up: `make demo` and `make test` need Python 3.11 or newer, make, and a package index.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin

.PHONY: demo test test-slow lint docs bench bench-peers clean

demo: $(VENV)/.ready
	$(RUN)/antiphon demo

test: $(VENV)/.ready
	$(RUN)/python -m pytest -m "not slow" -n 2

test-slow: $(VENV)/.ready
	$(RUN)/python -m pytest -m slow

lint: $(VENV)/.ready
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

docs: $(VENV)/.ready
	$(RUN)/python -c "from antiphon.config.document import config_page; print(config_page(), end='')" > docs/config.md

bench: $(VENV)/.ready
	$(RUN)/python bench/transformer.py
	$(RUN)/python bench/memory.py
	$(RUN)/python bench/recurrent.py
	$(RUN)/python bench/cells.py
	$(RUN)/python bench/pieces.py

# Against other toolkits, in an environment of its own.
PEERS := .peers
bench-peers: $(PEERS)/.ready
	PYTHONPATH=src $(PEERS)/bin/python -W ignore bench/recurrent.py
	PYTHONPATH=src $(PEERS)/bin/python -W ignore bench/transformer.py

$(PEERS)/.ready: bench/requirements-peers.txt constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r bench/requirements-peers.txt
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps joeynmt==2.3.0 OpenNMT-py==3.5.1
	touch $@

# The environment is made anew when a version changes, and only then.
$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: -c constraints.txt torch==2.13.0
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) $(PEERS) antiphon-demo build dist .pytest_cache .mypy_cache .ruff_cache
