# All commands of the project. `make` alone lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules

# Which Redis the store's tests run on: redis (one server), cluster, or both when
# empty.
ONCEWARD_TEST_LANES ?=
export ONCEWARD_TEST_LANES

REDIS_URL ?=
ARGS ?=
buf := go tool -modfile=tools/buf/go.mod buf

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1\t\2/' | expand -t 10

.PHONY: run
run: ## run the service on 127.0.0.1:7070 with the embedded store; ARGS='-redis-url redis://…' for another
	go run ./server $(ARGS)

.PHONY: build
build: ## build the static binary bin/onceward
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/onceward ./server

.PHONY: test
test: needs ## run all tests, on real Redis and Redis Cluster
	go test -race ./...

.PHONY: needs
needs: ## install what the tests need: redis-server and a C compiler for the race detector
	.ci/needs redis-server:redis-server redis-cli:redis-tools gcc:gcc /usr/include/stdio.h:libc6-dev

.PHONY: lint
lint: ## check the form of the Go code and the contract
	test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	go tool staticcheck ./...
	go mod tidy -diff
	$(buf) lint
	$(buf) format --diff --exit-code
	$(buf) breaking --against '.git#ref=HEAD'

.PHONY: gen
gen: ## generate gen/ from proto/, with pinned tools and offline
	$(buf) generate

.PHONY: fuzz
fuzz: ## fuzz what reads foreign bytes, 30 s each
	go test -run=NONE -fuzz=FuzzDeriveKey -fuzztime=30s ./server/internal/onceward
	go test -run=NONE -fuzz=FuzzDecodeVersion -fuzztime=30s ./server/internal/onceward
	go test -run=NONE -fuzz=FuzzDecodeEntity -fuzztime=30s ./server/internal/redisstore
	go test -run=NONE -fuzz=FuzzParse -fuzztime=30s ./server/internal/policyfile

.PHONY: demo
demo: ## push recorded deliveries through a server, with lost replies and killed workers; REDIS_URL for a real Redis
	REDIS_URL='$(REDIS_URL)' go run ./examples/replay -file examples/replay/deliveries.jsonl

.PHONY: memory
memory: needs ## measure what a finished claim and an entity cost in Redis, against a plain SET
	go run ./bench/memory -n 1000000

.PHONY: load
load: ## run the ghz load configurations against a server and check every answer; REDIS_URL for a real Redis
	go run ./bench/ghz -redis-url '$(REDIS_URL)'

.PHONY: bench
bench: needs ## measure against an empty call, a naive service and Redis alone; ARGS='-keys' or ARGS='-soak 10m' for the other stages
	go run ./bench $(ARGS)
