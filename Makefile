# Each target installs the Debian packages that it needs, through apt-get.

export SWIFT ?= swift
# One command builds the shipped program: `swift build -c release --product altnet` with these flags.
# Docs/contributor/building.md describes each option in the two toolset files. The lab, the demo and the benchmarks run
# the same compilation, and the fuzzers test it.
COMPILE := --static-swift-stdlib --toolset board/ship/compile.json
LINK := --disable-local-rpath --toolset board/ship/link.json
# The tests are compiled without optimisation, so the shipped program has a separate folder.
SHIP := $(SWIFT) build -c release --scratch-path .build/ship $(COMPILE) $(LINK) --product
SHIPPED := .build/ship/release
# DIRECT=1, as root: uses this machine's own kernel, which needs mac80211_hwsim, instead of a virtual machine.
LAB := board/lab/run $(if $(DIRECT),--direct)
# RADIO=fullmac: the device of the lab, the demo and the benchmark has a radio with its own firmware
# (Docs/contributor/loss-and-radios.md) instead of mac80211_hwsim's.
ifdef RADIO
export LAB_RADIO := $(RADIO)
endif
# KERNEL=6.12: uses the newest kernel of that series instead of the lab's default.
ifdef KERNEL
export LAB_KERNEL := $(KERNEL)
endif

# These settings report a crash within seconds. All threads and full symbols would take minutes.
export SWIFT_BACKTRACE ?= threads=crashed,symbolicate=fast,registers=none,images=none

.PHONY: help demo test test-all lab-beside check-and-integration check servers built-tests integration sanitize thorough lab lab-core lab-radio bench-altnet torture torture-policy fuzz fuzz-count bench home-assistant rabbitmq \
    endurance bench-keyfile bench-protocol bench-policy pictures docs completions build board deb archive reproducible package-test newcomer-test board-test \
    coverage covered format lint clean deps

help: ## Show what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 16

demo: deps ## See the agent keep a device online, on real kernel radios in a virtual machine (HOME_ASSISTANT=1)
	$(SHIP) altnet
	$(SHIP) altnet-lab
ifdef HOME_ASSISTANT
	$(SHIP) altnet-mqtt
	@board/install-dependencies debootstrap mosquitto
	@Tests/Servers/home-assistant --install
endif
	@board/lab/install
	@LAB_ALTNET=$(SHIPPED)/altnet $(LAB) $(if $(HOME_ASSISTANT),--virtual-time --memory 2048) \
	    --timeout $(if $(HOME_ASSISTANT),1200,600) -- \
	    $(SHIPPED)/altnet-lab demo $(if $(HOME_ASSISTANT),--home-assistant)

# `lint` is first, so that a line that is too long does not cost half an hour. The tests often wait. In that time the
# shipped program is built and tested in the lab, whose time is virtual.
test: lint servers built-tests ## Run the tests that every change needs: check, integration, core scenarios, package
	@board/lab/install
	@$(MAKE) --no-print-directory --output-sync=line --jobs 2 lab-beside check-and-integration
	@$(MAKE) --no-print-directory package-test

lab-beside:
	@nice -n 19 $(MAKE) --no-print-directory build
	@LAB_SCENARIOS=core nice -n 19 $(MAKE) --no-print-directory --old-file built-tests DIRECT= lab

check-and-integration:
	@$(MAKE) --no-print-directory --old-file lint --old-file built-tests check
	@$(MAKE) --no-print-directory --old-file servers --old-file built-tests integration

test-all: servers check thorough lab sanitize ## Test everything
	@LAB_RADIO=fullmac $(MAKE) --no-print-directory lab
	@$(MAKE) --no-print-directory bench-altnet
	@LAB_RADIO=fullmac $(MAKE) --no-print-directory bench-altnet
	@$(MAKE) --no-print-directory package-test newcomer-test board-test

# These compute for minutes. If tests with connections ran at the same time, the connections would time out.
COMPUTING := FailoverTests KeyFileTests SimulationTests
# These have connections with limits in real time. Only a few run at a time, because in a queue of thousands an answer
# exceeds its limit.
CONNECTING := AgentTests AppClientTests AppServerTests CommandLineTests DevicePageTests FleetTests SupplicantTests
# The target of a test decides when it runs. These need servers, network namespaces, root or all of the processor.
INTEGRATION := IntegrationTests HarnessTests DeveloperDeviceTests
# This one moves threads into other network namespaces, so it runs in a separate process. Swift's pool begins a thread
# in the namespace of the thread that asks for it, and the thread stays there.
NAMESPACES := NamespaceTests
SERVERS := busybox-static dhcpcd-base dnsmasq-base fish groff-base iproute2 libqrencode4 mosquitto mosquitto-clients network-manager \
    nftables nginx-light openssl python3 python3-cryptography dbus-daemon prometheus python3-dbusmock python3-jsonschema python3-scapy python3-yaml systemd zbar-tools zsh
# Additional servers for the tests of the DHCP client.
DHCP_SERVERS := isc-dhcp-relay isc-dhcp-server kea-dhcp4-server
# A browser for the tests of the page.
BROWSER := chromium chromium-driver fonts-noto-core python3-pip
# Compilers and runtimes of the clients in Docs/examples, in addition to Go.
EXAMPLES := default-jdk-headless gcc libc6-dev libmbedtls-dev nodejs

servers: deps
	@board/install-dependencies $(SERVERS)
	@board/install-dependencies $(DHCP_SERVERS) || echo "not all of $(DHCP_SERVERS): altnet is not tried with them"
	@board/install-dependencies $(BROWSER) || echo "not all of $(BROWSER): the page is not looked at by a browser"
	@board/install-dependencies $(EXAMPLES) || echo "not all of $(EXAMPLES): the clients that need them are not run"
	@Tests/Servers/axe-core --install >/dev/null || echo "no axe-core: the page's accessibility is not checked"
	@Tests/Servers/go --install >/dev/null || echo "no Go that is new enough: its client is not run"

built-tests: deps
	$(SWIFT) build --build-tests
	@board/ship/versions .build | sed 's/^/another version: /'

coverage: ## Print which tests cover each rule of the policy and each seed
	@command -v python3 >/dev/null || board/install-dependencies python3
	@Tests/coverage/report

covered:
	@command -v python3 >/dev/null || board/install-dependencies python3
	@Tests/coverage/report --check

check: lint covered built-tests ## Check a change: format, words, coverage, generated documents, and the tests that need neither root nor servers
	.build/debug/altnet-docs --check
	Docs/man/generate --check
	@Docs/figures --old
	Tests/run --skip-build $(COMPUTING:%=--filter '^%\.')
	Tests/run --few --skip-build $(CONNECTING:%=--filter '^%\.')
	Tests/run --skip-build $(patsubst %,--skip '^%\.',LabTests $(INTEGRATION) $(NAMESPACES) $(COMPUTING) $(CONNECTING))

integration: servers built-tests ## Run the tests with real servers and network namespaces, as root
	Tests/run --skip-build --no-parallel $(INTEGRATION:%=--filter '^%\.')
	Tests/run --skip-build --no-parallel $(NAMESPACES:%=--filter '^%\.')

sanitize: servers ## Look for data races in all tests, and for memory errors and undefined behaviour in code that calls C, as root
	Tests/sanitize/run thread
	Tests/sanitize/run address

# Not part of `make test`: the first time it needs 1.7 GB and the network. With a browser it also takes the picture in
# Docs.
home-assistant: servers ## Run the real Home Assistant beside a device and its bridge, as root
	$(SWIFT) build --product altnet-lab
	$(SWIFT) build --product altnet-mqtt
	@board/install-dependencies debootstrap
	Tests/Servers/home-assistant $$(! command -v chromedriver >/dev/null || echo --picture Docs/home-assistant.png)

# Not part of `make test` either: it needs 300 MB. RabbitMQ takes a minute or two to start.
rabbitmq: deps ## Run 300 devices beside a cluster of three RabbitMQ nodes, one of which is killed, as root
	$(SHIP) altnet-lab
	@board/install-dependencies debootstrap
	RABBITMQ_QUEUES=quorum Tests/Servers/rabbitmq sh -c '$(SHIPPED)/altnet-lab fleet --devices 300 --processes 1 --rate 50 \
	    --broker mqtt://127.0.0.1:1881,mqtt://127.0.0.1:1882,mqtt://127.0.0.1:1883 --kill "$$KILL_NODE"'

thorough: servers built-tests ## Run all tests but the lab's, with ten times the random histories, power cuts and inputs
	ALTNET_TESTS=thorough Tests/run --skip-build --no-parallel $(patsubst %,--skip '^%\.',LabTests $(NAMESPACES))
	Tests/run --skip-build --no-parallel $(NAMESPACES:%=--filter '^%\.')

lab: built-tests ## Run all scenarios on real kernel radios in a virtual machine (ONLY=suite or test, RADIO=fullmac)
	$(SHIP) altnet
	$(SHIP) altnet-mqtt
	@board/lab/install
	LAB_ALTNET=$(SHIPPED)/altnet board/lab/test $(if $(DIRECT),--direct) $(if $(ONLY),--only '$(ONLY)') .build/debug

lab-core: ## Run the core scenarios
	@LAB_SCENARIOS=core $(MAKE) --no-print-directory lab

# Runs the faults of a radio with its own firmware, a power cut and a commanded switch: at most 3 minutes.
lab-radio: ## Run the scenarios that matter most on a radio with its own firmware
	@LAB_RADIO=fullmac LAB_SCENARIOS=core $(MAKE) --no-print-directory lab \
	    ONLY='(RadioFaultTests|accessPointLosesPower|aSwitchThatIsNotConfirmedIsUndone)'

bench-altnet: ## Measure altnet alone, once, in the cases where radios differ (RADIO=fullmac)
	@$(MAKE) --no-print-directory bench \
	    BENCH="--stack altnet --runs 1 --only hard-loss --only weak-signal --only command --only cold-start"

bench: deps ## Measure altnet beside every Linux network stack (BENCH="--only hard-loss --runs 1")
	$(SHIP) altnet
	$(SHIP) altnet-lab
	LAB_ALTNET=$(SHIPPED)/altnet board/lab/bench $(SHIPPED)/altnet-lab $(BENCH)

# DAYS and SEEDS are for the simulator. LAB_DAYS (virtual days) and HOURS (hours with every fault) are for the lab.
endurance: built-tests ## Simulate weeks in a house, with the core and with the program (DAYS=30, SEEDS=2, LAB_DAYS=1, HOURS=20, RADIO=fullmac)
	$(SHIP) altnet
	$(SHIP) altnet-lab
	LAB_ALTNET=$(SHIPPED)/altnet DAYS=$(or $(DAYS),30) SEEDS=$(or $(SEEDS),2) LAB_DAYS=$(LAB_DAYS) HOURS=$(HOURS) \
	    board/lab/endurance .build/debug

torture: deps ## Cut the power of the key file a million times (CUTS=...)
	$(SHIP) altnet-lab
	$(SHIPPED)/altnet-lab torture $(if $(CUTS),--cuts $(CUTS))

torture-policy: deps ## Look for a history in which the failover policy breaks a promise (SEQUENCES=1000000, NEAR_EQUALS=1000)
	$(SHIP) altnet-lab
	$(SHIPPED)/altnet-lab torture-policy $(if $(SEQUENCES),--sequences $(SEQUENCES)) \
	    $(if $(NEAR_EQUALS),--near-equals $(NEAR_EQUALS))

# Every decoder of outside bytes, compiled like the shipped program, with instrumentation (Docs/results/fuzzing.md). It
# is linked differently, because libFuzzer has to unwind the stack to report a crash.
FUZZER := .build/fuzz/release/altnet-fuzz

fuzz: deps ## Fuzz every decoder of outside bytes (SECONDS=600 each, ONLY=dns,json, JOBS=2)
	$(SWIFT) build --package-path Tests/Fuzz --scratch-path .build/fuzz -c release $(COMPILE)
	Tests/Fuzz/run --seconds $(or $(SECONDS),600) --jobs $(or $(JOBS),1) $(if $(RUNS),--runs $(RUNS)) $(if $(ONLY),--only $(ONLY)) $(FUZZER)

fuzz-count: ## Add the fuzzing runs since the last time to the table in Docs/results/fuzzing.md (FROM=folders)
	Tests/Fuzz/count $(FROM)

BENCHMARKS := $(SWIFT) build --package-path Tests/Benchmarks --scratch-path .build/benchmarks -c release $(COMPILE) --product

bench-keyfile: deps ## Measure the key file beside SQLite, a rewritten file and bare writes (BENCH=--markdown)
	@board/install-dependencies libsqlite3-dev strace
	$(BENCHMARKS) keyfile-bench
	.build/benchmarks/release/keyfile-bench $(BENCH)

bench-protocol: deps ## Measure the app protocol beside a message through mosquitto (BENCH=--markdown)
	@board/install-dependencies mosquitto libsqlite3-dev
	$(BENCHMARKS) protocol-bench
	ulimit -n 8192 && .build/benchmarks/release/protocol-bench $(BENCH)

bench-policy: deps ## Compare the failover policy with the optimum and with other policies (BENCH="--seeds 5 --before FILE")
	$(SHIP) altnet-lab
	$(SHIPPED)/altnet-lab bench-policy $(BENCH)

pictures: deps ## Write the pictures in Docs: failover, demo, journey with a phone, simulation, benchmark, terminal
	$(SHIP) altnet
	$(SHIP) altnet-lab
	@board/lab/install
	@board/install-dependencies $(BROWSER)
	Docs/pictures

docs: deps ## Generate parts of the documents from the code: settings, messages, limits, commands, manual pages and more
	$(SWIFT) build --product altnet
	$(SWIFT) build --product altnet-docs
	.build/debug/altnet-docs
	Docs/man/generate

completions: deps ## Write completion scripts for bash, zsh and fish to .build/completions
	$(SHIP) altnet
	$(SHIP) altnet-mqtt
	@board/completions/generate $(SHIPPED)/altnet $(SHIPPED)/altnet-mqtt .build/completions
	@ls .build/completions/*

build: deps ## Build the agent as it ships, for this machine: one static binary
	$(SHIP) altnet
	$(SHIP) altnet-mqtt
	@ls -l $(SHIPPED)/altnet $(SHIPPED)/altnet-mqtt

board: ## Cross-compile the shipped programs for 64-bit ARM boards, with Debian packages only: .board/altnet, .board/altnet-mqtt
	@board/cross/build -- $(COMPILE) $(LINK)
	@board/cross/build --product altnet-mqtt -- $(COMPILE) $(LINK)

# altnet, altnet-mqtt and altnet-fleet for each architecture, and their symbols (-dbgsym), from debian/rules.
ARCH ?= amd64 arm64

deb: ## Build the Debian packages in .board/debian (ARCH=amd64 for one architecture)
	@board/install-dependencies bash-completion binutils debhelper lintian
	@mkdir -p .board/debian
	@rm -f $(ARCH:%=.board/debian/altnet*_%.deb)
	@set -e; $(foreach arch,$(ARCH),DEB_FOLDER=.board/debian dpkg-architecture --host-arch $(arch) --force \
	    --command "debian/rules clean binary";)
	@lintian $(ARCH:%=.board/debian/altnet*_%.deb)

# KEY is a secret key of gpg. The packages are built from a fresh clone of the last commit.
archive: ## Write a signed apt repository of the last commit to .board/archive (KEY=fingerprint, ARCH=amd64)
	@board/install-dependencies apt-utils bash-completion binutils debhelper git gnupg lintian python3
	@test -n "$(KEY)" || { echo "name a secret key of gpg: make archive KEY=..." >&2; exit 64; }
	@board/debian/release .board/release $(ARCH)
	@board/debian/archive "$(KEY)" .board/archive .board/release/*.deb

reproducible: ## Build the packages of the last commit in two folders, and compare them byte for byte (ARCH=amd64)
	@board/install-dependencies bash-completion binutils debhelper git lintian
	@board/debian/release .board/release $(ARCH)
	@board/debian/release .board/release-again $(ARCH)
	@cd .board/release && for file in *.deb; do cmp "$$file" "../release-again/$$file" && echo "$$file: the same bytes" || exit 1; done

package-test: ## Install, upgrade, remove and purge the packages in a fresh Debian 13, as root
	@DEB_BUILD_OPTIONS=noautodbgsym $(MAKE) --no-print-directory deb ARCH=amd64
	@board/install-dependencies apt-utils debootstrap gnupg python3
	@$(if $(filter 0,$(shell id -u)),,sudo) board/debian/test .board/debian/altnet_*_amd64.deb

newcomer-test: ## Follow the README from a fresh clone of the last commit in a fresh Debian 13 to a device that answers, as root
	@board/install-dependencies debootstrap
	@$(if $(filter 0,$(shell id -u)),,sudo) board/debian/newcomer-test

# For a real board: BOARD=[user@]host, and for its access points HOOK=program NETWORKS=file
# (Docs/contributor/testing.md).
board-test: deps ## Test the arm64 package on a virtual board with systemd, or on BOARD=user@host
	@$(MAKE) --no-print-directory deb ARCH=arm64
	$(SHIP) altnet-lab
	$(if $(BOARD),,board/cross/build --product altnet-dongle -- $(COMPILE) $(LINK))
	board/test/run $(if $(BOARD),--board $(BOARD)) $(if $(HOOK),--hook $(HOOK)) $(if $(NETWORKS),--networks $(NETWORKS)) \
	    $(if $(ONLY),--only $(ONLY)) .board/debian/altnet_*_arm64.deb

format: ## Format the sources
	$(SWIFT) format -i -r Package.swift Sources Tests

lint: ## Check the sources' format, and the words of comments and documents
	@command -v python3 >/dev/null || board/install-dependencies python3
	@Tests/words/lint
	@Tests/names/twice --check
	$(SWIFT) format lint --strict -r Package.swift Sources Tests

deps:
	@board/install-dependencies

clean: ## Remove what was built
	rm -rf .build .lab .board/build .board/debian
