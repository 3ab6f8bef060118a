# Everything a newcomer needs is `make`, `make demo` and `make test`. Only `make compose-test`, `make images` and
# `make operations-figures` need a container engine.
SHELL := bash
PYTHON ?= python3
# The tests on servers wait half of their time: two workers a core.
WORKERS ?= $(shell echo $$((2 * $$(nproc))))
BIN := .venv/bin
STAMP := .venv/.stamp
PYTEST := $(BIN)/python -m pytest -q --dist loadscope --no-loadscope-reorder
# Plain processes side by side: what each of xdist's workers would collect again costs more than it brings.
UNIT := $(BIN)/python -m pytest -q --hypothesis-profile=quick -m "not integration and not soak and not containers"
DOUBLED := tests/integration/executor tests/integration/delivery tests/integration/validator tests/integration/learner \
	tests/integration/memory tests/integration/scheduler
PACKAGES := contracts libs/common $(sort $(wildcard services/*)) cli
VERSION_FILE := contracts/src/rota_contracts/version.py
PEERS := .venv/peers
SERVICES := $(notdir $(sort $(wildcard services/*)))
# Those in the image `tools`, as its Dockerfile names them.
TOOLS := trigger-gateway scheduler executor delivery-center
VERSION = $(shell $(BIN)/python -c "from rota_contracts.version import VERSION; print(VERSION)")
COMMIT ?= HEAD
DIST ?= dist
REPOSITORY ?= rota
# Of images: the commit, and whether files were changed since.
REVISION = $(shell git describe --always --dirty --abbrev=40 --exclude '*')

# uv is some ten times faster than pip; where only pip knows the way to the packages, pip does it.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || $(BIN)/pip install --quiet $(1)
# The packages of this repository are found by requirements/local.in and not pinned.
compile = $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links \
	--python-version 3.11 --universal --custom-compile-command "make lock" \
	--overrides requirements/local.in $(addprefix --no-emit-package=rota-,contracts common $(SERVICES)) $(UPGRADE)

# The tests start hundreds of processes; without bytecode each compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup release images upgrade-test demo check test soak compose-test unit-runs unit-services unit-ports unit-others lint format schemas bench bench-peers operations-figures flood chaos simulate-year lock
.DEFAULT_GOAL := help

help: ## list these targets
	@grep -hE '^[a-z-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

setup: $(STAMP) ## make .venv with everything in it (PYTHON=python3.11 chooses the interpreter)

$(STAMP): requirements/build.txt requirements/all.txt $(PACKAGES:%=%/pyproject.toml) $(VERSION_FILE)
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Rota needs Python 3.11 or newer, $(PYTHON) is %d.%d: try make PYTHON=python3.11" % sys.version_info[:2])'
	@test -x $(BIN)/python || { echo "making .venv"; $(PYTHON) -m venv .venv; }
	@echo "installing what requirements/all.txt pins"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	@$(call install,--require-hashes -r requirements/all.txt)
	@$(call install,--no-deps --no-build-isolation $(PACKAGES:%=-e %))
	@touch $@

demo: setup ## a lead comes in, a robot works on it: see what everybody gets
	@$(BIN)/rota demo

check: setup ## style, types, borders, and all tests that need no server: the loop while writing
	@$(MAKE) --no-print-directory -j5 --output-sync=target lint unit-others unit-services unit-runs unit-ports

test: setup ## all tests on real servers, but for the long proofs (ARGS="services/executor -k parked"; WORKERS=0: one by one)
	@$(PYTEST) -n $(WORKERS) -m "not soak and not containers" $(ARGS)

soak: setup ## the long proofs: kills, floods, fuzzing, installed environments, doubled messages, a month of clocks
	@$(PYTEST) -n $(WORKERS) -m soak --ignore=tests/upgrade/test_upgrade.py $(ARGS)
	@$(PYTEST) -n $(WORKERS) -m "not soak" --twice $(DOUBLED)
	@$(MAKE) --no-print-directory simulate-year DAYS=$(or $(DAYS),30) SEED=$(or $(SEED),1)
	@$(MAKE) --no-print-directory chaos SECONDS=$(or $(SECONDS),60) SEED=$(or $(SEED),1)

compose-test: setup ## the whole path in containers: kills, restarts, down and up; says what is missing (RATE=3 RUNS=15)
	@$(if $(RATE),ROTA_CONTAINERS_RATE=$(RATE)) $(if $(RUNS),ROTA_CONTAINERS_RUNS=$(RUNS)) $(PYTEST) tests/containers $(ARGS)

unit-runs: setup
	@$(UNIT) services/executor services/scheduler $(ARGS)

unit-services: setup
	@$(UNIT) $(filter-out services/executor services/scheduler,$(wildcard services/*)) $(ARGS)

unit-ports: setup
	@$(UNIT) tests/conformance $(ARGS)

unit-others: setup
	@$(UNIT) contracts/tests libs/common/tests cli/tests tests --ignore tests/integration --ignore tests/conformance $(ARGS)

lint: setup ## style, types and the borders between the parts
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/mypy

format: setup ## put the style right
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

schemas: setup ## write contracts/schemas and docs/channels.md from the catalog
	$(BIN)/python -m rota_contracts.tooling.export

bench: setup ## measure, beside the floor
	$(BIN)/python -m bench
	$(BIN)/python -m bench.wire
	$(BIN)/python -m bench.stop
	$(BIN)/python -m bench.bus_bytes
	$(BIN)/python -m bench.clock
	$(BIN)/python -m bench.flood

bench-peers: setup $(PEERS)/.stamp ## measure standard mode beside Restate and DBOS, in an environment of its own (needs npm)
	$(BIN)/python -m bench.peers $(ARGS)

$(PEERS)/.stamp: requirements/peers.txt bench/peers/package-lock.json | setup
	@echo "installing the peers into $(PEERS)"
	@$(PYTHON) -m venv $(PEERS)
	@$(BIN)/uv pip install --quiet --python $(PEERS)/bin/python --require-hashes -r requirements/peers.txt || \
		$(PEERS)/bin/pip install --quiet --require-hashes -r requirements/peers.txt
	@cp bench/peers/package.json bench/peers/package-lock.json $(PEERS)/
	@cd $(PEERS) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

operations-figures: setup ## measure the system of docker-compose.yml for docs/operations-figures.md; half an hour (ARGS="--quick")
	$(BIN)/python -m bench.operations $(ARGS)

flood: setup ## flood one team with webhooks, see that another's clocks stay on time (SECONDS=20 SEED=1)
	$(BIN)/python -m bench.flood $(SECONDS:%=--seconds=%) $(SEED:%=--seed=%)

chaos: setup ## kill every service at every step, count what came of it (SECONDS=60 SEED=1 EXECUTIONS=1000 KINDS=kills,partitions)
	$(BIN)/python -m tests.chaos $(SECONDS:%=--seconds=%) $(SEED:%=--seed=%) $(EXECUTIONS:%=--executions=%) $(KINDS:%=--kinds=%)

simulate-year: setup ## a year of a thousand clocks in minutes, counted by an independent oracle (DAYS=20 SEED=1)
	$(BIN)/python -m tests.clock_year $(DAYS:%=--days=%) $(SEED:%=--seed=%)

release: setup ## build the wheels of all packages and the SBOM of each service into dist/, with hashes; nothing is published (COMMIT=HEAD DIST=dist)
	@rm -rf $(DIST) && mkdir -p $(DIST)/source
	@git archive $(COMMIT) | tar -x -C $(DIST)/source
	@for package in $(PACKAGES); do \
		SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct $(COMMIT)) $(BIN)/uv build --quiet --wheel --no-build-isolation \
			--no-create-gitignore --python $(BIN)/python -o $(DIST) $(DIST)/source/$$package || exit 1; \
	done
	@for name in $(SERVICES); do \
		$(BIN)/python requirements/sbom.py $$name --root $(DIST)/source > $(DIST)/rota-$$name.cdx.json || exit 1; \
	done
	@rm -rf $(DIST)/source
	@cd $(DIST) && sha256sum *.whl *.cdx.json > SHA256SUMS && cat SHA256SUMS

images: setup ## build each service's image, tagged and labelled with the version (needs a container engine; REPOSITORY=rota)
	@for name in $(SERVICES); do \
		docker build --build-arg SERVICE=$$name --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) \
			-t $(REPOSITORY)/$$name:$(VERSION) . || exit 1; \
	done

upgrade-test: setup ## upgrade the last release to this tree under load, service by service, and go back
	@$(PYTEST) -s tests/upgrade

lock: setup ## pin again what the pyproject.tomls and requirements/*.in ask for (UPGRADE=--upgrade takes the newest)
	@$(compile) --extra server cli/pyproject.toml requirements/dev.in -o requirements/all.txt
	@$(compile) -c requirements/all.txt requirements/build.in -o requirements/build.txt
	@$(compile) requirements/peers.in -o requirements/peers.txt
	@for name in $(SERVICES); do \
		$(compile) -c requirements/all.txt services/$$name/pyproject.toml -o requirements/$$name.txt || exit 1; \
	done
	@$(compile) -c requirements/all.txt cli/pyproject.toml $(TOOLS:%=services/%/pyproject.toml) -o requirements/tools.txt
