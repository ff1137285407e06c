SHELL = /bin/bash
PYTHON ?= python3
VENV = .venv
PEERS = .venv-peers
BIN = $(VENV)/bin
NODE = node_modules
# Hours of work lie under build, so clean leaves it alone. The scripts read the same variable.
export RECOUP_STUDY ?= build/priors
WEIGHTS = src/recoup/priors/weights
INSTALL = python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test check lint pins install-hashed docs fuzz chaos bench reproduce study
.PHONY: study-audits study-promises study-priors study-auto study-probabilities study-groups
.PHONY: study-labels study-tables study-weeks study-guard train-priors house data clean
.PHONY: clean-study system

help:
	@echo 'make demo          install recoup into $(VENV) and run its demonstration'
	@echo 'make test          install everything the tests need, then run all checks and tests'
	@echo 'make check         the same, without looking for system packages'
	@echo 'make install-hashed  install what the tests need from files of known digests alone, on Linux;'
	@echo '                   torch, whose builds differ, by its version; make test goes on from there'
	@echo 'make pins          pin the packages of $(VENV), with the digests that the index gives'
	@echo 'make docs          build the pages of docs into site; open site/index.html'
	@echo 'make fuzz          give commands and functions what nobody should: half an hour'
	@echo 'make chaos         kill, freeze and starve a benchmark; its store must be that of a calm one'
	@echo 'make bench         measure speed and memory, and compare with other code: half an hour'
	@echo 'make reproduce     repeat the experiments of the papers on the real datasets of the folder'
	@echo '                   RECOUP_DATA, and write docs/papers: hours, goes on where it stopped;'
	@echo '                   runs of PU-Bench are made by recoup bench run, and read here'
	@echo 'make study         measure how often intervals, bounds, tests of models and the test of'
	@echo '                   labels at random hold what they claim: the last takes hours'
	@echo 'make study-audits  measure whether rows checked by hand give what they claim: two hours'
	@echo 'make study-priors  hold every prior estimator against known shares in the real datasets'
	@echo '                   of the folder RECOUP_DATA: hours'
	@echo 'make study-promises  measure how often promises of certified thresholds are broken'
	@echo 'make study-auto    hold auto and its members against known shares where labels are random, on'
	@echo '                   real datasets of the folder RECOUP_DATA: half an hour'
	@echo 'make study-groups  measure intervals of groups, in simulations and on Adult: an hour'
	@echo 'make study-labels  hold estimates of alpha against the truth where labels are biased, on real'
	@echo '                   datasets of the folder RECOUP_DATA: most of an hour'
	@echo 'make study-probabilities'
	@echo '                   hold chances of being positive against true classes, on real datasets of'
	@echo '                   the folder RECOUP_DATA: ten minutes'
	@echo 'make study-tables  which learner for a table: hours, goes on where it stopped'
	@echo 'make study-weeks   hold numbers of weeks and alarms against known truth while labels are still'
	@echo '                   coming: half an hour, goes on where it stopped'
	@echo 'make study-guard   whether fits that fail say so: hours, goes on where it stopped'
	@echo 'make train-priors  train the shipped networks anew, from simulations and RECOUP_DATA:'
	@echo '                   hours, and a GPU helps'
	@echo 'make house         count how easily somebody new finds their way in the code'
	@echo 'make clean         remove environments, caches and packages, but not what studies did'
	@echo 'make clean-study   remove build, where studies keep what they did: stopped ones go on'
	@echo '                   from there'

demo: $(VENV)/.installed
	$(BIN)/recoup demo

# pytest comes last in both, so that its closing line is the last one printed. Each of its two
# processes gets one thread: on two cores more of them only wait for each other.
test: system $(VENV)/.installed-test lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

check: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

lint: $(VENV)/.installed-test $(NODE)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(NODE)/.bin/biome check --error-on-warnings
	for room in shared page groups leaderboard weeks; do \
	    $(NODE)/.bin/tsc -p src/recoup/report/$$room || exit 1; \
	done

pins: $(VENV)/.installed-test
	$(BIN)/python -m tools.pins

# What builds packages comes first, so that none is fetched for it that has no digest.
HASHED = python -m pip install --quiet --disable-pip-version-check --require-hashes
install-hashed: $(VENV)/pyvenv.cfg
	sed -n '/^setuptools==/,/[0-9a-f]$$/p' requirements-ci.txt >$(VENV)/setuptools.txt
	$(BIN)/$(HASHED) -r $(VENV)/setuptools.txt
	$(BIN)/$(HASHED) --no-build-isolation -r requirements-ci.txt
	$(BIN)/$(INSTALL) --no-deps torch
	$(BIN)/$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $(VENV)/.installed-test $(VENV)/.installed

# Not --quiet: it hides warnings from --strict too.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# For other cases: make fuzz SEED=7 FUZZ_SECONDS=3600.
SEED ?= 0
FUZZ_SECONDS ?= 1800
fuzz: $(VENV)/.installed-test
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.fuzz --seed $(SEED) --seconds $(FUZZ_SECONDS)

chaos: $(VENV)/.installed-test
	$(BIN)/python -m tools.chaos --seed $(SEED)

bench: $(VENV)/.installed $(PEERS)/.installed
	$(BIN)/python -m tools.speed.evaluation
	$(BIN)/python -m tools.speed.audits
	$(BIN)/python -m tools.speed.groups
	$(BIN)/python -m tools.speed.bagged_networks
	$(BIN)/python -m tools.speed.priors
	$(BIN)/python -m tools.speed.kernel_means
	$(PEERS)/bin/python -m tools.speed.peers

# For a look at one paper: make reproduce PAPERS=ramola2019 SIZE=--tiny OUT=build/papers
PAPERS ?= $(notdir $(patsubst %/experiment.py,%,$(wildcard papers/*/experiment.py)))
SIZE ?= --full
OUT ?= docs/papers

reproduce: data $(VENV)/.installed-cluster
	@for paper in $(PAPERS); do \
	    case $$paper in \
	        pubench) how="--from docs/papers/pubench/results.parquet";; \
	        *) how="$(SIZE)";; \
	    esac; \
	    echo "$(BIN)/python -m papers $$paper $$how --out $(OUT)/$$paper"; \
	    $(BIN)/python -m papers $$paper $$how --out $(OUT)/$$paper || exit 1; \
	done
	$(BIN)/python -c 'from papers import write_overview as write; write("$(OUT)", "$(OUT).md")'
	@if [ -f $(OUT)/pubench/results.parquet ]; then \
	    $(BIN)/python -m papers.pubench.which_learner $(OUT)/pubench/results.parquet \
	        $(dir $(OUT))which-learner.md || exit 1; \
	    $(BIN)/python -m tools.studies.learner_page $(OUT)/pubench/results.parquet \
	        $(dir $(OUT))learners-study.md || exit 1; \
	fi

study: $(VENV)/.installed
	@mkdir -p $(RECOUP_STUDY)
	$(BIN)/python -m tools.studies.intervals --out $(RECOUP_STUDY)/intervals.json
	$(BIN)/python -m tools.studies.bounds
	$(BIN)/python -m tools.studies.compare_level
	$(BIN)/python -m tools.studies.scar_test --store $(RECOUP_STUDY)/scar_test.jsonl --jobs -1

# tools.studies.audit_peers, run where glide-py and activeeval are installed, adds their part.
AUDITS = $(RECOUP_STUDY)/audits
study-audits: data $(VENV)/.installed
	@mkdir -p $(AUDITS)
	$(BIN)/python -m tools.studies.audits pack --to $(AUDITS)/sets.npz
	$(BIN)/python -m tools.studies.audits run --data $(AUDITS)/sets.npz --out $(AUDITS)/found.json
	$(BIN)/python -m tools.studies.audit_page $(AUDITS)/found.json docs/audits.md \
	    $(if $(wildcard $(AUDITS)/peers.json),--peers $(AUDITS)/peers.json)

# tools.studies.promise_peers, run where mapie is installed, adds its part.
study-promises: $(VENV)/.installed
	@mkdir -p $(RECOUP_STUDY)
	$(BIN)/python -m tools.studies.promises --out $(RECOUP_STUDY)/promises.json \
	    --peers $(RECOUP_STUDY)/promise_peers.json --write docs/promises-study.md

study-priors: data $(VENV)/.installed
	$(BIN)/python -m tools.studies.prior_tasks pack --kind study
	$(BIN)/python -m tools.studies.prior_tasks score
	$(BIN)/python -m tools.studies.priors --write docs/priors-study.md
	$(BIN)/python -m tools.studies.recovered_auc --write docs/recovered-auc.md

study-auto: data $(VENV)/.installed
	$(BIN)/python -m tools.studies.prior_tasks pack --kind study
	$(BIN)/python -m tools.studies.auto_study score
	$(BIN)/python -m tools.studies.auto_study run --write docs/auto-study.md

study-probabilities: data $(VENV)/.installed
	$(BIN)/python -m tools.studies.prior_tasks pack --kind study training
	$(BIN)/python -m tools.studies.probability_tasks score --kind study training
	$(BIN)/python -m tools.studies.probabilities choose
	$(BIN)/python -m tools.studies.probabilities run --write docs/probabilities-study.md

study-groups: data $(VENV)/.installed
	@mkdir -p $(RECOUP_STUDY)
	$(BIN)/python -m tools.studies.groups run --out $(RECOUP_STUDY)/groups.json
	$(BIN)/python -m tools.studies.groups write $(RECOUP_STUDY)/groups.json docs/groups-study.md

study-labels: data $(VENV)/.installed
	$(BIN)/python -m tools.studies.biased_labels --write docs/biased-labels-study.md

# On more cores: python -m tools.studies.tables run --jobs 16 --limit 500.
study-tables: data $(VENV)/.installed-torch
	$(BIN)/python -m tools.studies.packed_tables
	$(BIN)/python -m tools.studies.tables run --jobs 2
	$(BIN)/python -m tools.studies.tables add build/tables/found.jsonl
	$(BIN)/python -m tools.studies.tables write docs/which-table-learner.md

study-weeks: $(VENV)/.installed
	$(BIN)/python -m tools.studies.weeks run --found build/weeks.json
	$(BIN)/python -m tools.studies.weeks write docs/weeks-study.md --found build/weeks.json

study-guard: data $(VENV)/.installed-torch
	$(BIN)/python -m tools.studies.packed_tables
	$(BIN)/python -m tools.studies.learner_guard run --jobs 2
	$(BIN)/python -m tools.studies.learner_guard add build/learner_guard/found.jsonl
	$(BIN)/python -m tools.studies.learner_guard write docs/learner-guard.md

# In this order: the combination asks the other two.
train-priors: data $(VENV)/.installed-torch
	$(BIN)/python -m tools.training.dist_curve --out $(WEIGHTS)/dist_curve.npz
	$(BIN)/python -m tools.training.share_net --out $(WEIGHTS)/share_net.npz
	$(BIN)/python -m tools.studies.prior_tasks pack --kind training
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.training.view_tasks
	rm -rf $(RECOUP_STUDY)/view_rows  # what the networks before these said
	$(BIN)/python -m tools.training.view_rows
	$(BIN)/python -m tools.training.view_rows --drawn
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.training.auto --out $(WEIGHTS)/auto_views.npz
	$(BIN)/python -m tools.training.biased_tasks
	$(BIN)/python -m tools.training.biased_labels --out $(WEIGHTS)

house: $(VENV)/.installed-test
	$(BIN)/python -m tools.house

data:
	@if [ ! -d "$$RECOUP_DATA" ]; then \
	    echo 'Name the folder of the datasets: make ... RECOUP_DATA=...; "recoup list datasets"' \
	        'says which are at hand.' >&2; \
	    exit 1; \
	fi

clean:
	rm -rf $(VENV) $(PEERS) $(NODE) dist site recoup-demo .hypothesis .import_linter_cache \
	    .mypy_cache .pytest_cache .ruff_cache
	find src tests papers tools -name __pycache__ -type d -prune -exec rm -rf {} +

clean-study:
	rm -rf build

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

$(VENV)/.installed-cluster: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(BIN)/$(INSTALL) -e '.[cluster]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(BIN)/$(INSTALL) -e '.[docs]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-torch: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(BIN)/$(INSTALL) -e '.[torch]'
	@touch $@ $(VENV)/.installed

$(PEERS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/$(INSTALL) -e . pulearn==0.2.0 quapy==0.2.3
	@touch $@

# Only checks of the report's scripts come from npm. package-lock.json names no registry.
$(NODE)/.installed: package.json package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# The report is tested in a real browser, its scripts are checked with Node.js, and Spark needs Java
# 17 or later.

HAS_CHROMIUM = command -v chromium || command -v chromium-browser || command -v google-chrome
HAS_JAVA = java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' \
    | { read -r major && [ "$$major" -ge 17 ]; }

system:
	@missing=(); \
	{ $(HAS_CHROMIUM); } >/dev/null || missing+=(chromium); \
	{ $(HAS_JAVA); } 2>/dev/null || missing+=(default-jre-headless); \
	{ command -v node && command -v npm; } >/dev/null || missing+=(nodejs npm); \
	if [ $${#missing[@]} -eq 0 ]; then exit 0; fi; \
	root=(); if [ "$$(id -u)" -ne 0 ]; then root=(sudo); fi; \
	if ! command -v apt-get >/dev/null || ! command -v "$${root[0]:-true}" >/dev/null; then \
	    echo "The tests need system packages that make cannot install here: $${missing[*]}." >&2; \
	    echo "Install a Chromium browser, a Java runtime, 17 or later, and Node.js with npm, and" \
	        "try again." >&2; \
	    exit 1; \
	fi; \
	"$${root[@]}" apt-get update -qq \
	    && "$${root[@]}" env DEBIAN_FRONTEND=noninteractive \
	        apt-get install -y -qq --no-install-recommends "$${missing[@]}" \
	    || { echo "Could not install $${missing[*]}: install by hand and try again." >&2; exit 1; }; \
	{ $(HAS_JAVA); } 2>/dev/null \
	    || { echo 'The tests need Java 17 or later; the system offers an older one.' >&2; exit 1; }
