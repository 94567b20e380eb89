# Heliograph's front door: "make" lists what can be done here.
#
# Every nested module stands alone with a replace line that points at this
# folder, so no workspace file is needed, and one of somebody's own that lies
# further up must not change what is built.
export GOWORK := off
# A checkout that belongs to another user (CI as root) has no readable commit
# to stamp into a binary, and nothing here wants one.
export GOFLAGS := $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS   += --no-print-directory

GO ?= go
# Where tools are built; ignored by git.
BIN := $(CURDIR)/.bin

# LIGHT_MODULES are the nested modules that compile quickly. They are vetted,
# linted and tested together with the root module.
LIGHT_MODULES := $(patsubst %/go.mod,%,$(wildcard bench/go.mod fastjson/go.mod contrib/*/go.mod examples/*/go.mod))
# JUDGES are the nested modules in which something from outside judges us.
JUDGES := $(patsubst %/go.mod,%,$(wildcard conformance/*/go.mod))

# TESTFLAGS, BENCHFLAGS and FUZZTIME may be set on the command line.
TESTFLAGS  ?=
BENCHFLAGS ?=
FUZZTIME   ?= 10s
E2E_TIMEOUT ?= 15m

# The race detector limits the number of goroutines and changes what memory is
# used. Tests that suffer from it have a name that ends in WithoutRace and are run
# once more without it, in a pass of their own over the packages that have any.
WITHOUT_RACE          := WithoutRace$$
WITHOUT_RACE_PACKAGES := ./apiserver ./indexer ./informer ./internal/gate ./internal/jsonobject ./internal/simulation ./reflector

.PHONY: help test fmt lint conformance upstream-test e2e bench fuzz soak

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

test: fmt lint ## gofmt, go vet, staticcheck, and all quick tests with the race detector
	@echo "== go test -race ./..."
	@$(GO) test -race -timeout 10m $(TESTFLAGS) ./...
	@echo "== go test -run '$(WITHOUT_RACE)' $(WITHOUT_RACE_PACKAGES)"
	@$(GO) test -timeout 10m $(TESTFLAGS) -run '$(WITHOUT_RACE)' $(WITHOUT_RACE_PACKAGES)
	@for m in $(LIGHT_MODULES); do \
		echo "== $$m: go test ./..."; \
		(cd $$m && $(GO) test -timeout 10m $(TESTFLAGS) ./...); \
	done

fmt: ## fail and name the files that are not formatted
	@echo "== gofmt"
	@files=$$(gofmt -l .); \
	if [ -n "$$files" ]; then echo "not formatted (run gofmt -w):"; echo "$$files"; exit 1; fi

lint: $(BIN)/staticcheck ## go vet and staticcheck, over the root and the light nested modules
	@for m in . $(LIGHT_MODULES); do \
		echo "== $$m: go vet, staticcheck"; \
		(cd $$m && $(GO) vet ./... && $(BIN)/staticcheck ./...); \
	done

# The linter's own module keeps its dependencies out of everybody's go.mod. It
# is built again when its pinned version or the compiler changes: a linter that
# was built with an older Go refuses newer code.
$(BIN)/staticcheck: tools/go.mod tools/go.sum $(shell $(GO) env GOROOT)/VERSION
	@echo "== building staticcheck"
	@mkdir -p $(BIN)
	@$(GO) build -C tools -o $@ honnef.co/go/tools/cmd/staticcheck
	@touch $@

conformance: ## the heavy judges: suites and programs written by others, run against ours
	@if [ -z "$(JUDGES)" ]; then \
		echo "no judges yet: they come with the server half and the drop-in packages"; \
	fi
	@for m in $(JUDGES); do \
		echo "== $$m: go test ./..."; \
		(cd $$m && $(GO) test -vet=off -timeout 30m $(TESTFLAGS) ./...); \
	done

# SUBJECT is whose packages client-go's tests are run on: heliograph, or client-go
# to prove that the harness is right.
SUBJECT ?= heliograph

upstream-test: ## client-go's own tests on the packages that take its place (a part of conformance)
	@cd conformance/clientgo && $(GO) test -vet=off -count=1 -v -timeout 30m $(TESTFLAGS) . -subject $(SUBJECT)

# The packages of e2e that do not link kube-apiserver: "./..." would walk all of
# Kubernetes once more.
E2E_PACKAGES := . ./harness ./proxy ./recorder ./kubeapi/... ./throughput

# Without the race detector: the tests link a whole etcd, and the code under test
# has its own tests with the detector in "make test".
e2e: $(BIN)/staticcheck ## everything against a genuine kube-apiserver (built once per machine)
	@cd e2e && $(GO) run ./kubeapi/build
	@echo "== e2e: compiling the tests and running them"
	@cd e2e && $(GO) test -vet=off $(TESTFLAGS) ./proxy ./recorder ./kubeapi ./throughput
	@cd e2e && $(GO) test -vet=off -count=1 -v -timeout $(E2E_TIMEOUT) $(TESTFLAGS) .
	@echo "== e2e: go vet, staticcheck"
	@cd e2e && $(GO) vet $(E2E_PACKAGES) && $(BIN)/staticcheck $(E2E_PACKAGES)

# The comparison with a genuine server links etcd and builds kube-apiserver once
# per machine, so it is left out where flags ask for a part of the rest. Only a
# run without flags is written to docs/performance.md.
bench: ## print the tables of measurements, side by side with client-go and kube-apiserver
	@cd bench && $(GO) run . -document ../docs/performance.md $(BENCHFLAGS)
ifeq ($(strip $(BENCHFLAGS)),)
	@cd e2e && $(GO) run ./throughput
endif

fuzz: ## run every fuzz target of the root module for FUZZTIME (10s)
	@list=$$($(GO) test -list '^Fuzz' ./...); \
	found=0; targets=""; \
	while read -r first second _; do \
		case "$$first" in \
		Fuzz*) targets="$$targets $$first" ;; \
		ok) for f in $$targets; do \
				echo "== $$second $$f for $(FUZZTIME)"; found=1; \
				$(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) "$$second"; \
			done; \
			targets="" ;; \
		esac; \
	done <<< "$$list"; \
	if [ $$found = 0 ]; then echo "no fuzz targets in the root module"; fi

# SEEDS is the number of seeds of a soak, FIRST the first of them.
SEEDS ?= 5000
FIRST ?= 0

soak: ## simulate SEEDS (5000) random histories of writes and faults, from FIRST (0) on
	@mkdir -p $(BIN)
	@$(GO) test -c -o $(BIN)/simulation.test ./internal/simulation
	@cd internal/simulation && $(BIN)/simulation.test -test.timeout 0 -test.run '^TestInformersKeepTheirPromisesWithoutRace$$' \
		-first $(FIRST) -seeds $(SEEDS)
