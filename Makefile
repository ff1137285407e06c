SHELL = /bin/bash
PYTHON ?= python3
VENV = .venv
PEERS = .venv-peers
BIN = $(VENV)/bin
INSTALL = python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test check lint system bench study clean

help:
	@echo 'make demo    install recoup into $(VENV) and run its demonstration'
	@echo 'make test    install everything the tests need, then run all checks and tests'
	@echo 'make check   the same, without looking for system packages'
	@echo 'make bench   measure speed, and compare with another PU library'
	@echo 'make study   measure how often intervals and bounds hold the truth'
	@echo 'make clean   remove environments, caches and build outputs'

demo: $(VENV)/.installed
	$(BIN)/recoup demo

# pytest comes last in both, so that its closing line is the last one printed.
test: system $(VENV)/.installed-test lint
	$(BIN)/python -m pytest -n 2

check: lint
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed $(PEERS)/.installed
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/networks.py
	$(PEERS)/bin/python benchmarks/peers.py

study: $(VENV)/.installed
	$(BIN)/python benchmarks/study_intervals.py
	$(BIN)/python benchmarks/study_bounds.py

clean:
	rm -rf $(VENV) $(PEERS) build dist recoup-demo .hypothesis .import_linter_cache \
	    .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Environments. A stamp file marks each finished install, so that a rerun costs nothing.

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo 'recoup needs Python 3.11 or later; name one with make PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(BIN)/$(INSTALL) -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(BIN)/$(INSTALL) -e '.[test]'
	@touch $@ $(VENV)/.installed

$(PEERS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/$(INSTALL) -e . pulearn==0.2.0
	@touch $@

# The report is tested in a real browser, and Spark needs Java 17 or later.

HAS_CHROMIUM = command -v chromium || command -v chromium-browser || command -v google-chrome
HAS_JAVA = java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' \
    | { read -r major && [ "$$major" -ge 17 ]; }

system:
	@missing=(); \
	{ $(HAS_CHROMIUM); } >/dev/null || missing+=(chromium); \
	{ $(HAS_JAVA); } 2>/dev/null || missing+=(default-jre-headless); \
	if [ $${#missing[@]} -eq 0 ]; then exit 0; fi; \
	root=(); if [ "$$(id -u)" -ne 0 ]; then root=(sudo); fi; \
	if ! command -v apt-get >/dev/null || ! command -v "$${root[0]:-true}" >/dev/null; then \
	    echo "The tests need system packages that make cannot install here: $${missing[*]}." >&2; \
	    echo "Install a Chromium browser and a Java runtime, 17 or later, and try again." >&2; \
	    exit 1; \
	fi; \
	"$${root[@]}" apt-get update -qq \
	    && "$${root[@]}" env DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends "$${missing[@]}" \
	    || { echo "Could not install $${missing[*]}: install by hand and try again." >&2; exit 1; }; \
	{ $(HAS_JAVA); } 2>/dev/null \
	    || { echo 'The tests need Java 17 or later; the system offers an older one.' >&2; exit 1; }
