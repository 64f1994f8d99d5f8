# Everything that is needed is installed by the first target that needs it (Debian packages, through apt-get).

export SWIFT ?= swift
# As it ships: optimised for size, one static program. That is also what runs in the lab. Its flags make it another
# compilation of everything, so it has a folder of its own.
SHIP := board/ship .build/ship
SHIPPED := .build/ship/release
# The engineer's tools.
BUILD := $(SWIFT) build -c release --static-swift-stdlib --disable-local-rpath --product
RELEASE := .build/release
# DIRECT=1, as root: on this machine's own kernel, where it has mac80211_hwsim, and not in a virtual machine.
LAB := board/lab/run $(if $(DIRECT),--direct)

# A crash is told within seconds; with all threads and full symbols it takes minutes.
export SWIFT_BACKTRACE ?= threads=crashed,symbolicate=fast,registers=none,images=none

.PHONY: help demo test unit integration lab torture torture-policy fuzz fuzz-count bench bench-keyfile bench-protocol bench-policy \
    man completions build board deb deb-test order board-test format lint clean deps

help: ## Show what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 16

demo: deps ## See the agent keep a device online, on real kernel radios in a virtual machine
	$(SHIP) altnet
	$(BUILD) altnet-lab
	@board/lab/install
	@LAB_ALTNET=$(SHIPPED)/altnet $(LAB) --timeout 600 -- $(RELEASE)/altnet-lab demo

test: lint unit lab deb-test ## Run every test

# Tests that keep the processor busy run by themselves: beside them, whoever waits for an answer would wait too long.
# So does the harness, which wants its device to be quick.
BUSY := ^(KeyFileTests\.|FailoverTests\.|SimulationTests\.|FuzzTests\.|AgentTests\.(FactoryTests|RestingSecretTests)/)
HARNESS := ^HarnessTests\.
# Threads that live in another network namespace have a process of their own: the pool that tasks share makes its threads
# from whichever thread has work for it, and they begin in that thread's namespace and stay there.
NAMESPACES := ^IntegrationTests\.(DeadPathTests|TroubleTests|InterfaceTests)/

unit: deps ## Run the tests that need no radios
	@board/install-dependencies fish groff-base iproute2 mosquitto nftables nginx-light openssl python3 python3-cryptography \
	    python3-jsonschema zbar-tools zsh
	Tests/run --skip '^(LabTests|IntegrationTests)\.' --skip '$(BUSY)' --skip '$(HARNESS)'
	Tests/run --skip-build --filter '$(BUSY)'
	Tests/run --skip-build --filter '$(HARNESS)'
	@$(MAKE) --no-print-directory integration

integration: deps ## Run the tests that need root, servers, network namespaces, or real time
	@board/install-dependencies iproute2 mosquitto nftables nginx-light openssl python3
	Tests/run --no-parallel --filter '^IntegrationTests\.' --skip '$(NAMESPACES)'
	Tests/run --skip-build --no-parallel --filter '$(NAMESPACES)'

lab: deps ## Run the scenarios on real kernel radios in a virtual machine
	$(SHIP) altnet
	$(SWIFT) build --build-tests
	@board/lab/install
	LAB_ALTNET=$(SHIPPED)/altnet board/lab/test $(if $(DIRECT),--direct) .build/debug

bench: deps ## Measure altnet beside every Linux network stack (BENCH="--only hard-loss --runs 1")
	$(SHIP) altnet
	$(BUILD) altnet-lab
	LAB_ALTNET=$(SHIPPED)/altnet board/lab/bench $(RELEASE)/altnet-lab $(BENCH)

torture: deps ## Cut the power of the key file a million times (CUTS=...)
	$(BUILD) altnet-lab
	$(RELEASE)/altnet-lab torture $(if $(CUTS),--cuts $(CUTS))

torture-policy: deps ## Look for a history in which the failover policy breaks a promise (SEQUENCES=1000000)
	$(BUILD) altnet-lab
	$(RELEASE)/altnet-lab torture-policy $(if $(SEQUENCES),--sequences $(SEQUENCES))

# Every decoder of outside bytes, compiled as it ships and instrumented besides (Docs/fuzzing.md). Not linked as it ships:
# libFuzzer has to unwind the stack to tell of a crash.
FUZZER := .build/fuzz/release/altnet-fuzz
FUZZ_FLAGS = $(shell sed '/^\#/d; /^-Xlinker/d' board/release-flags)

fuzz: deps ## Fuzz every decoder of outside bytes (SECONDS=600 each, ONLY=dns,json, JOBS=2)
	ALTNET_FUZZ=1 $(SWIFT) build -c release --static-swift-stdlib $(FUZZ_FLAGS) --scratch-path .build/fuzz --product altnet-fuzz
	Tests/Fuzz/run --seconds $(or $(SECONDS),600) --jobs $(or $(JOBS),1) $(if $(RUNS),--runs $(RUNS)) $(if $(ONLY),--only $(ONLY)) $(FUZZER)

fuzz-count: ## Add what the fuzzers have run since the last time to the table in Docs/fuzzing.md (FROM=folders)
	Tests/Fuzz/count $(FROM)

bench-keyfile: deps ## Measure the key file beside SQLite, a rewritten file and bare writes (BENCH=--markdown)
	@board/install-dependencies libsqlite3-dev strace
	ALTNET_BENCH=1 $(BUILD) keyfile-bench
	$(RELEASE)/keyfile-bench $(BENCH)

bench-protocol: deps ## Measure the app protocol beside a message through mosquitto (BENCH=--markdown)
	@board/install-dependencies mosquitto libsqlite3-dev
	ALTNET_BENCH=1 $(BUILD) protocol-bench
	ulimit -n 8192 && $(RELEASE)/protocol-bench $(BENCH)

bench-policy: deps ## Hold the failover policy against others and against the optimum (BENCH="--seeds 5")
	$(BUILD) altnet-lab
	$(RELEASE)/altnet-lab bench-policy $(BENCH)

man: deps ## Write the manual pages in Docs/man anew, from the commands' own help
	@Docs/man/generate

completions: deps ## Write completion scripts for bash, zsh and fish to .build/completions
	$(SHIP) altnet
	@mkdir -p .build/completions
	@$(SHIPPED)/altnet --generate-completion-script bash >.build/completions/altnet.bash
	@$(SHIPPED)/altnet --generate-completion-script zsh >.build/completions/_altnet
	@$(SHIPPED)/altnet --generate-completion-script fish >.build/completions/altnet.fish
	@ls .build/completions/*

build: deps ## Build the agent as it ships, for this machine: one static binary
	$(SHIP) altnet
	@ls -l $(SHIPPED)/altnet

board: ## Cross-compile the agent for 64-bit ARM boards, with Debian packages only: .board/altnet
	@board/cross/build

# A package for each architecture; that for arm64 has what `make board` has left.
ARCH ?= amd64 arm64
DEB_amd64 := $(SHIPPED)/altnet
DEB_arm64 := .board/altnet

deb: completions $(if $(filter arm64,$(ARCH)),board) ## Build the Debian packages (ARCH=amd64 for one of them)
	@board/install-dependencies binutils lintian
	@set -e; $(foreach arch,$(ARCH),package=$$(board/debian/build $(arch) $(DEB_$(arch))); echo $$package; lintian $$package;)

deb-test: ## Install, upgrade, remove and purge the package in a fresh Debian 13, as root
	@$(MAKE) --no-print-directory deb ARCH=amd64
	@board/install-dependencies debootstrap
	@set -e; packages=$$(ls -t .board/debian/altnet_*_amd64.deb); $(if $(filter 0,$(shell id -u)),,sudo) board/debian/test $$(echo "$$packages" | head -n 1)

order: deps ## Write anew which functions of the program lie side by side, as the virtual board and the lab show it
	@$(MAKE) --no-print-directory deb ARCH=arm64
	$(SHIP) altnet
	$(SWIFT) build --product altnet-lab
	board/order

# On a real board: BOARD=[user@]host, and for its access points HOOK=program NETWORKS=file (Docs/board-test.md).
board-test: deps ## Test the arm64 package on a virtual board with systemd, or on BOARD=user@host
	@$(MAKE) --no-print-directory deb ARCH=arm64
	$(SWIFT) build --product altnet-lab
	board/test/run $(if $(BOARD),--board $(BOARD)) $(if $(HOOK),--hook $(HOOK)) $(if $(NETWORKS),--networks $(NETWORKS)) \
	    $(if $(ONLY),--only $(ONLY)) "$$(ls -t .board/debian/altnet_*_arm64.deb | head -n 1)"

format: ## Format the sources
	$(SWIFT) format -i -r Package.swift Sources Tests

lint: ## Check the sources' format
	$(SWIFT) format lint --strict -r Package.swift Sources Tests

deps:
	@board/install-dependencies

clean: ## Remove what was built
	rm -rf .build .lab .board/build .board/debian
