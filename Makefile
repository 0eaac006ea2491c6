# Copyright 2026 The Sluice Authors
# SPDX-License-Identifier: Apache-2.0

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# What people may set.
OUTPUT ?= _output
MEMBERS ?= 3
REDIS ?=
SEEDS ?= 10000
M ?=
BENCH ?=
KNATIVE ?= all
LADDER ?= full
DOCS ?=
DURATION ?= 1h
SEED ?=

# All is compiled once without cgo, and once with it for the race detector.
export CGO_ENABLED := 0

BIN := $(OUTPUT)/bin
MODULES := . test/lab test/schematest
GENERATED := '*zz_generated*' config/300-crds 'docs/events.*' docs/commands.md docs/fields.md config/600-eventing/eventtypes.yaml
TOOLS := tools tools/lint tools/vuln tools/ko
PROGRAMS := functions/standalone test/playground
# What people download has no symbols for debuggers: 40 MB, not 56. -trimpath would take off
# 0.03 MB, and compile all that it consists of once more.
PLUGIN = -ldflags='-s -w -X sluice.dev/pkg/cli.built=$(VERSION)'
# As kubectl sluice version says it; nothing in a checkout without git.
VERSION = $(shell [[ ! -e .git ]] || git describe --always --dirty 2>/dev/null)
# Tests that need something up, or more time than others, have targets of their own.
APART := /test/(e2e|simulation|bench|conventions|knative)(/|$$)
LINT := tool -modfile=$(CURDIR)/tools/lint/go.mod golangci-lint run --allow-parallel-runners --config $(CURDIR)/.golangci.yml

say = @printf '\n==> %s\n' '$(1)'

##@ Use

.PHONY: help
help: ## Show this
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "Variables: MEMBERS=3, OUTPUT=_output, REDIS=ADDRESS (default: embedded), SEEDS=10000, M=member2, BENCH=, LADDER=full, DURATION=1h, SEED=, KNATIVE=all or core"

.PHONY: run
run: build ## Start a hub, members and the pipeline, propagate an example, stay until Ctrl-C
	@exec $(BIN)/playground run --with-parent --dir $(OUTPUT) --members $(MEMBERS) $(if $(REDIS),--redis $(REDIS))

.PHONY: demo
demo: build ## The same, check the outcome and end
	@exec $(BIN)/playground demo --with-parent --dir $(OUTPUT) --members $(MEMBERS) $(if $(REDIS),--redis $(REDIS))

# While make run is up. They build nothing: what runs is what is asked.

.PHONY: pipeline-restart
pipeline-restart: up ## Kill the pipeline (kill -9) and start it again
	@$(BIN)/playground pipeline-restart --dir $(OUTPUT)

.PHONY: pipeline-flush
pipeline-flush: up ## Empty the pipeline's Redis
	@$(BIN)/playground pipeline-flush --dir $(OUTPUT)

.PHONY: member-stop
member-stop: up named ## Take a member away: M=member2
	@$(BIN)/playground member-stop $(M) --dir $(OUTPUT)

.PHONY: member-start
member-start: up named ## Bring it back: M=member2
	@$(BIN)/playground member-start $(M) --dir $(OUTPUT)

.PHONY: up
up:
	@[[ -x $(BIN)/playground ]] || { echo 'nothing is up: start it with make run, in another terminal'; exit 1; }

.PHONY: named
named:
	@[[ -n '$(M)' ]] || { echo 'which member? say M=member2'; exit 1; }

.PHONY: lab-up
lab-up: lab ## Start a hub and members only, in the background
	@$(BIN)/lab up --dir $(OUTPUT) --members $(MEMBERS)

.PHONY: lab-down
lab-down: lab ## End them
	@$(BIN)/lab down --dir $(OUTPUT)

.PHONY: lab-status
lab-status: lab ## Show them
	@$(BIN)/lab status --dir $(OUTPUT)

.PHONY: apply
apply: ## Install on the cluster of the current kubeconfig that has Knative (ko), with OVERLAYS="kafka locked"
	@tools/ko/apply.sh

##@ Build

.PHONY: build
build: lab ## Build all programs into _output/bin
	@[[ -x $(BIN)/playground ]] || echo 'sluice: compiling, once: about 2 minutes on two cores'
	@go build -buildvcs=false -o $(BIN)/ $(addprefix ./,$(PROGRAMS))
	@go build -buildvcs=false $(PLUGIN) -o $(BIN)/ ./cmd/kubectl-sluice

# Kubernetes compiles for minutes the first time; the script says so.
.PHONY: lab
lab:
	@test/lab/build.sh $(BIN)

.PHONY: generate
generate: ## Generate deep copies, CRDs, EventTypes, docs/events.md, docs/commands.md and the tables of docs/fields.md
	@go generate ./...

.PHONY: clean
clean: ## End the lab and remove _output
	@[[ ! -x $(BIN)/lab ]] || $(BIN)/lab down --dir $(OUTPUT)
	@rm -rf $(OUTPUT)

##@ Check

# Two at a time: the tests on real components wait about as much as they work, and the
# simulation takes what they leave.
.PHONY: test
test: ## Run all tests that need no root
	@$(MAKE) --no-print-directory -j2 test-unit test-modules
	@$(MAKE) --no-print-directory -j2 e2e simulate-ci

# A hub and one member for the tests that want real API servers.
TEST_LAB := $(OUTPUT)/test

.PHONY: test-unit
test-unit: lab
	$(call say,unit tests with the race detector; its first run compiles for minutes)
	@$(BIN)/lab up --dir $(TEST_LAB) --members 1 >/dev/null; \
	trap '$(BIN)/lab down --dir $(TEST_LAB) >/dev/null' EXIT; \
	race=-race cgo=1; command -v "$$(go env CC)" >/dev/null || { \
	  [[ $${CI:-} != true ]] || { echo 'no C compiler'; exit 1; }; \
	  echo 'there is no C compiler, so the tests run without the race detector'; race= cgo=0; }; \
	export SLUICE_HUB_KUBECONFIG=$(abspath $(TEST_LAB))/kubeconfig/hub \
	  SLUICE_MEMBER_KUBECONFIG=$(abspath $(TEST_LAB))/kubeconfig/member1; \
	export CGO_ENABLED=$$cgo; source test/twice.sh; \
	twice -timeout=90m -- -timeout=30m $$race $$(go list ./... | grep -vE '$(APART)') | { grep -v 'no test files' || true; }; \
	go test ./test/conventions

.PHONY: test-modules
test-modules: lab
	$(call say,tests of the nested modules)
	@go test -C test/schematest ./...
	@source test/twice.sh; export SLUICE_LAB_KUBE=$(abspath $(BIN))/kube; \
	twice -timeout=60m -- -C test/lab -timeout=30m ./... | { grep -v 'no test files' || true; }

.PHONY: simulate-ci
simulate-ci:
	$(call say,simulation: the pipeline against its model)
	@nice -n 19 go test -timeout=85m ./test/simulation/... -seeds=300

.PHONY: simulate
simulate: ## Run more seeds of the simulation: SEEDS=10000
	@go test ./test/simulation/... -count=1 -timeout=0 -seeds=$(SEEDS)

.PHONY: e2e
e2e: build ## Run the end-to-end tests on a playground of their own, or on the one that is up
	$(call say,end-to-end tests on a hub and $(MEMBERS) members)
	@$(BIN)/playground with --with-parent --audit --dir $(OUTPUT) --members $(MEMBERS) -- \
	  test/e2e/run.sh 2>&1 | tee $(OUTPUT)/e2e.log

.PHONY: e2e-knative
e2e-knative: ## Run the end-to-end tests on a real Knative (needs root)
	@test/knative/run $(KNATIVE)

.PHONY: bench
bench: build ## Measure the budgets and print the table: BENCH='-full -only writes'
	@go build -buildvcs=false -o $(BIN)/ ./test/bench
	@exec $(BIN)/bench -bin $(BIN) $(BENCH)

.PHONY: bench-ladder
bench-ladder: build ## Measure with more and more templates and members: LADDER=short, small or full; DOCS=docs draws the curves
	@go build -buildvcs=false -o $(BIN)/ ./test/bench
	@exec $(BIN)/bench -bin $(BIN) -ladder $(LADDER) $(if $(DOCS),-docs $(DOCS)) $(BENCH)

.PHONY: chaos
chaos: build ## Kill, stop and restart real processes under load: DURATION=1h SEED=
	@go build -buildvcs=false -o $(BIN)/ ./test/chaos
	@exec $(BIN)/chaos -bin $(BIN) -duration $(DURATION) $(if $(SEED),-seed $(SEED))

.PHONY: verify
verify: verify-generated verify-format verify-modules ## Check that what is generated, formatted and required is up to date
	$(call say,conventions)
	@go test ./test/conventions ./pkg/core ./test/e2e/acceptance

.PHONY: verify-generated
verify-generated:
	$(call say,generated files)
	@sums() { git ls-files -cdo --exclude-standard -z -- $(GENERATED) | sort -zu | xargs -0 sha1sum 2>/dev/null || true; }; \
	before=$$(sums); $(MAKE) --no-print-directory generate; after=$$(sums); \
	diff <(echo "$$before") <(echo "$$after") >/dev/null || { \
	  comm -3 <(sort <<<"$$before") <(sort <<<"$$after") | awk '{ print $$2 }' | sort -u; \
	  git --no-pager diff --stat -- $(GENERATED); echo 'make generate changed these files: commit them'; exit 1; }

.PHONY: verify-format
verify-format:
	$(call say,gofmt)
	@bad=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l 2>/dev/null); \
	[[ -z $$bad ]] || { echo "$$bad"; echo 'not formatted: run gofmt -w'; exit 1; }

# The tools' modules hold what the tools need and no more; go mod tidy would add
# the tests of their dependencies. That they are complete is checked.
.PHONY: verify-modules
verify-modules:
	$(call say,go.mod and go.sum)
	@for m in $(MODULES); do go -C $$m mod tidy -diff || { echo "$$m: run go mod tidy"; exit 1; }; done
	@for m in $(TOOLS); do go -C $$m list -mod=readonly -deps tool >/dev/null || { echo "$$m: go.sum lacks something"; exit 1; }; done

.PHONY: lint
# In CI a database that answers with an error fails; one that this machine has no way to does not.
lint: ## Run golangci-lint, and govulncheck where its database can be reached
	$(call say,golangci-lint; its first run compiles it for minutes)
	@for m in $(MODULES); do (cd $$m && go $(LINT) ./...); done
	$(call say,govulncheck)
	@out=$$(go tool -modfile=tools/vuln/go.mod govulncheck ./... 2>&1) && echo "$$out" || { \
	  if grep -q '^govulncheck: fetching vulnerabilities' <<<"$$out" && \
	     { [[ $${CI:-} != true ]] || grep -qE 'dial tcp|proxyconnect' <<<"$$out"; }; then \
	    echo "skipped, this machine cannot reach its database: $$out"; \
	  else echo "$$out"; exit 1; fi; }
