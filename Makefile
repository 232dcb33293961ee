# Two commands for a newcomer: `make run` and `make test`. Each target sets up what it needs, once.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
LISTEN ?= ws://127.0.0.1:4500
NPM_INSTALL := npm install --no-audit --no-fund --no-package-lock --loglevel=error
# Most tests wait for servers that start: two at a time keep two cores busy. The tests of a file stay together.
WORKERS ?= -n 2 --dist loadfile --max-worker-restart 1
PY_READY := .venv/.ready
TS_READY := clients/typescript/node_modules/.ready
PEERS := tests/clients/requirements.txt tests/server/agent/models/requirements.txt
# What foreign clients were sent, gathered from all processes for the test that adds it up.
SEEN := $(CURDIR)/.pytest_cache/seen
LAST := tests/clients/test_shared_types.py
PEERS_READY := tests/clients/node_modules/.ready
# What is about the fence around commands: run once for each sandbox there is, the better ones hidden.
FENCES := tests/server/exec/test_escape.py tests/server/exec/test_sandbox.py tests/journeys/test_fence.py
# Writes a home for the benchmark, whose model both servers know by these names; a large one takes minutes to write.
STORES := env PYTHONPATH=$(CURDIR) $(CURDIR)/$(BIN)/python -m tests.support.stores --home {home} --provider mock --model mock-model
PATIENCE := 1800
SCENARIOS ?= cold,rpc,threads,turn,stream,conc,fanout,slow
REPS ?= 3

.PHONY: run demo test sandbox-test bubblewrap check soak bench beside timings hyperfine generate clean help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

run: $(PY_READY) ## run the server on the offline model (LISTEN=ws://IP:PORT)
	$(BIN)/threadloom app-server --listen $(LISTEN) -c 'model_provider="rehearsal"'

demo: $(PY_READY) ## a whole story by itself, printed as it happens
	$(BIN)/python -m threadloom.demo

# What crossed the wire in all the runs of one `make test`, for the one list at its end.
test soak: export THREADLOOM_TESTS_TALLY := $(CURDIR)/.pytest_cache/tally

test: check bubblewrap $(PEERS_READY) ## everything: the checks, then every test
	rm -rf $$THREADLOOM_TESTS_TALLY
	$(BIN)/python -m pytest $(WORKERS) --ignore tests/clients $(FENCES:%=--ignore %)
	$(MAKE) --no-print-directory sandbox-test
	rm -rf $(SEEN) && THREADLOOM_TESTS_SEEN=$(SEEN) $(BIN)/python -m pytest $(WORKERS) tests/clients --ignore $(LAST)
	THREADLOOM_TESTS_SEEN=$(SEEN) $(BIN)/python -m pytest $(LAST)
	$(BIN)/python -m tests.support.tally

sandbox-test: bubblewrap $(PY_READY) ## the fence around commands: as it is, without bubblewrap, without any
	$(BIN)/python -m pytest $(WORKERS) $(FENCES)
	THREADLOOM_SANDBOX=landlock $(BIN)/python -m pytest $(WORKERS) $(FENCES)
	THREADLOOM_SANDBOX=none $(BIN)/python -m pytest $(WORKERS) $(FENCES)

bubblewrap: # the sandbox of choice
	@command -v bwrap >/dev/null || { apt-get update -q && apt-get install -qy bubblewrap; }

check: $(PY_READY) $(TS_READY) ## format, lint, types, generated files, layers, handlers
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/python -m threadloom_protocol.codegen --check
	$(BIN)/python -m pytest tests/test_layers.py tests/test_handlers.py
	cd clients/typescript && node_modules/.bin/tsc --noEmit -p .

soak: bubblewrap $(PY_READY) $(TS_READY) $(PEERS_READY) ## the tests with their full counts
	rm -rf $$THREADLOOM_TESTS_TALLY
	THREADLOOM_SOAK=1 $(BIN)/python -m pytest $(WORKERS) --ignore tests/clients $(FENCES:%=--ignore %)
	THREADLOOM_SOAK=1 $(MAKE) --no-print-directory sandbox-test
	THREADLOOM_SOAK=1 $(BIN)/python -m pytest tests/clients
	$(BIN)/python -m tests.support.tally

bench: $(PY_READY) ## our own figures (LARGE=1: more of them); with BENCH=DIR, the benchmark driver, speed beside Codex first
	$(if $(BENCH),$(MAKE) --no-print-directory beside,@echo "BENCH=DIR, the folder of the benchmark driver, adds speed beside Codex.")
	$(BIN)/python -m tests.support.figures $(if $(LARGE),--large)

# Both servers in one run. STORE and LONG are sizes of the scenarios `store` (threads) and `long` (items of one thread).
beside: $(PY_READY)
	@test -n "$(BENCH)" || { echo "make beside BENCH=DIR: the folder of the benchmark driver"; exit 2; }
	mkdir -p .bench && cp -rf $(BENCH)/. .bench/ && chmod -R u+w .bench && cd .bench && ./setup
	cd .bench && .venv/bin/python appbench.py --add 'ours=$(CURDIR)/$(BIN)/threadloom app-server --listen {listen}' \
	  --set 'ours.store_cmd=$(STORES) --threads {n}' --set 'ours.long_cmd=$(STORES) --items {n}' \
	  $(STORE:%=--store %) $(LONG:%=--long %) $(if $(STORE)$(LONG),--limit $(PATIENCE)) \
	  -s $(SCENARIOS) --reps $(REPS) --out result.json
	cd .bench && .venv/bin/python report.py result.json

timings: hyperfine $(PY_READY) ## what the command line takes, beside Codex where that is installed
	$(BIN)/python -m tests.support.timings

hyperfine: # times commands
	@command -v hyperfine >/dev/null || { apt-get update -q && apt-get install -qy hyperfine; }

generate: $(PY_READY) ## write the generated files anew
	$(BIN)/python -m threadloom_protocol.codegen

clean: ## remove what the other targets made
	rm -rf .venv .bench node_modules clients/typescript/node_modules tests/clients/node_modules .mypy_cache .ruff_cache

# Debian keeps venv apart from python3; where it is missing, it is fetched.
$(PY_READY): pyproject.toml
	$(PYTHON) -m venv .venv 2>/dev/null || { rm -rf .venv; apt-get update -q && apt-get install -qy python3-venv && $(PYTHON) -m venv .venv; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(TS_READY): clients/typescript/package.json
	cd clients/typescript && $(NPM_INSTALL)
	@touch $@

# Other people's clients, which the tests run against this server, and a local model; the Codex TUI runs in tmux.
$(PEERS_READY): tests/clients/package.json $(PEERS) $(PY_READY)
	command -v tmux >/dev/null || { apt-get update -q && apt-get install -qy tmux; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(PEERS:%=--requirement %)
	cd tests/clients && $(NPM_INSTALL)
	@touch $@
