# Bare `make` explains the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

include tests/cluster/cluster.mk
include tests/bench/bench.mk

.PHONY: help
help: ## explains the targets
	@echo "The load-test operator. Three targets do all the set-up they need:"
	@echo "  make demo           a small investigation on this machine, in two minutes: no cluster, no root"
	@echo "  make cluster-demo   a whole investigation on a real one-node Kubernetes, live, with its result"
	@echo "  make test           everything that is checked"
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

$(VENV)/.ready: requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "Python 3.11 or newer is needed, and %s is %s.%s: name another with PYTHON=..." % (("$(PYTHON)",) + sys.version_info[:2]))'
	@echo "making the Python environment ($(VENV))"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --require-hashes -r requirements/dev.txt
	@$(PYTHON) build/develop.py $(VENV)
	@touch $@

.PHONY: venv
venv: $(VENV)/.ready ## makes the Python environment from the locked requirements

.PHONY: lint
lint: venv ## mypy strict, ruff, the layer contracts
	@tests/timed lint-ruff ruff check .
	@tests/timed lint-format ruff format --check .
	@tests/timed lint-mypy mypy operator tests/cluster tests/bench samples/runner
	@tests/timed lint-imports lint-imports

.PHONY: format
format: venv ## formats the code
	@ruff format .
	@ruff check --fix --exit-zero .

.build/audit/.ready: requirements/audit.txt
	@echo "making the environment of the audit (.build/audit)"
	@$(PYTHON) -m venv .build/audit
	@.build/audit/bin/pip install --quiet --require-hashes -r requirements/audit.txt
	@touch $@

.PHONY: audit
audit: .build/audit/.ready ## writes a bill of materials (CycloneDX) of what each image installs into .build/sbom
	@mkdir -p .build/sbom
	@for image in operator injector runner; do \
	  .build/audit/bin/cyclonedx-py requirements --no-validate --output-reproducible --output-format JSON \
	    --output-file .build/sbom/$$image.json requirements/$$image.txt || exit 1; \
	  echo ".build/sbom/$$image.json: $$(grep -c '"bom-ref"' .build/sbom/$$image.json) entries"; done

.PHONY: generate
generate: venv ## makes the CRD and the reference page from the models
	@$(BIN)/python build/generate.py

.PHONY: test-unit
test-unit: venv ## what needs no cluster: pure parts, real processes on loopback
	@$(PYTHON) -c "from tests.cluster.packages import need; need('redis-server', 'nginx', 'prometheus')"
	@tests/timed test-unit pytest -q -m "not cluster" tests/unit tests/injector tests/runner tests/cluster
	@tests/timed test-local pytest -q tests/local

.PHONY: test-faults
test-faults: venv ## every fault in every phase, thousands of runs; what failed, and how to repeat it
	@$(BIN)/python -m tests.faults

.PHONY: test-mutations
test-mutations: venv ## takes one safeguard out at a time, and asks whether the tests notice
	@$(BIN)/python -m tests.faults.mutations

.PHONY: test-faults-slice
test-faults-slice: venv
	@tests/timed test-faults-slice python -m tests.faults --layer loop --every 40

.PHONY: test-apiserver
test-apiserver: venv ## against a real kube-apiserver and etcd
	@tests/timed test-apiserver pytest -q tests/apiserver

.PHONY: test-cluster
test-cluster: venv cluster-up images ## against the whole cluster: operator, Helm, Locust, Runner, Redis
	@tests/timed test-cluster pytest -q tests/cluster/test_cluster.py tests/e2e

.PHONY: test
test: ## lint, unit, API-server and cluster tests, and what each took
	@rm -f .build/times
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory test-unit
	@$(MAKE) --no-print-directory test-faults-slice
	@$(MAKE) --no-print-directory test-apiserver
	@$(MAKE) --no-print-directory test-cluster
	@echo; echo "what each took:"; cat .build/times

.PHONY: demo
demo: venv ## a small investigation on this machine, without a cluster: live view, tables, report
	@command -v redis-server >/dev/null || $(PYTHON) -c "from tests.cluster.packages import need; need('redis-server')"
	@# 3 and 4 are verdicts on what was measured, and no failures of the demonstration.
	@$(BIN)/loadtest run --local manifests/samples/quickstart.yaml; code=$$?; [[ $$code =~ ^[034]$$ ]] || exit $$code

.PHONY: cluster-demo
cluster-demo: ## a whole investigation on a real Kubernetes: live view, result table
	@$(MAKE) --no-print-directory -j2 venv cluster-up
	@$(BIN)/python -m tests.cluster.demo
