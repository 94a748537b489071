# Hawser. `make demo` and `make test` are all a newcomer needs; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
CARGO := cargo
.DEFAULT_GOAL := help
PREFIX := /usr/local
# For workspaces next to the main one: libraries that both use are built once.
SHARED := CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-$(CURDIR)/target}"
# Every target with a line of help, and those without.
.PHONY: $(shell grep -oE '^[a-z0-9-]+:' $(firstword $(MAKEFILE_LIST)) | tr -d ':')

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

setup: ## install what building and testing need (Debian, Ubuntu; as root), or say what is missing
	@scripts/setup

web: ## fetch uPlot, with which the status page draws, by its lock file; the next build embeds it (npm)
	@scripts/web

build: setup ## build the command, optimised; with charts in the status page after `make web`
	@scripts/web --check || true
	$(CARGO) build --locked --release -p hawser-cli

demo: setup ## a drive through town: one file over WiFi, LTE and a LEO dish, alone and together; DEMO="--http 127.0.0.1:9090" to watch it
	$(CARGO) build --locked --release -p hawser-cli -p hawser-lab
	@"$${CARGO_TARGET_DIR:-target}/release/hawser-demo" $(DEMO)

test: setup lint unit fuzz-replay interop-fast ## set-up, lints and all tests

lint: ## formatting, lints, no circles of imports, portable mathematics, words, links, requirements, dependencies, packages, interface, oldest Rust, features
	$(CARGO) fmt --all --check
	@scripts/import-circles
	@scripts/portable-math
	@scripts/rooms
	@python3 scripts/test_words.py --quiet
	@python3 contrib/live/test_obs_encoder.py --quiet
	@scripts/words
	@scripts/doc-links
	@python3 scripts/test_requirements.py --quiet
	@scripts/requirements
	@scripts/dependencies
	@scripts/packages
	@scripts/api
	@scripts/msrv
	@scripts/features
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	@# A workspace of its own (python/Cargo.toml). Neither Python nor its headers are needed for this.
	cd python && $(CARGO) fmt --check && $(SHARED) PYO3_NO_PYTHON=1 PYO3_BUILD_EXTENSION_MODULE=1 $(CARGO) clippy --locked --lib -- -D warnings

unit: ## unit, property, scenario and end-to-end tests; PROPTEST_RNG_SEED=1 of the property tests
	PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-1} $(CARGO) test --locked --workspace

install: build ## the command, man pages, completions and units below PREFIX=/usr/local (DESTDIR for packagers)
	@scripts/install "$(DESTDIR)" "$(PREFIX)"

book: build ## docs/ as pages to read and search, with a reference of all commands: target/book/html/index.html
	@scripts/book --mdbook "$$(scripts/tool mdbook 0.5.4)" "$${CARGO_TARGET_DIR:-target}/release/hawser"

python: ## the package `hawser` for Python, its tests and types (docs/python.md); PYTHON=python3, 3.11 or later with headers
	@scripts/test-python

learn: ## train schedulers of packets and of frames with stable-baselines3 and RLlib, judge them on held-out seeds (docs/python-learning.md); 6 GB of libraries
	@scripts/learn $(LEARN)

ffi: ## the C ABI: header by cbindgen, example in C by gcc and clang, under valgrind and AddressSanitizer (docs/c.md); seconds, once built
	@scripts/ffi

packages: setup ## .deb, .rpm and a static binary of this architecture in target/packages (docs/install.md); PACKAGES=deb
	@scripts/make-packages $(PACKAGES)

test-packages: ## install, use and remove what `make packages` made, on bare machines that are thrown away (as root; mmdebstrap, rpm)
	@scripts/test-packages
	@scripts/test-deb target/packages/hawser_*.deb

cross: ## the library for aarch64, armv7 and musl, and a transfer with each in an emulator (qemu-user); CROSS=TRIPLE
	@scripts/cross $(CROSS)

fuzz: setup ## FUZZ_SECONDS=60 for each of FUZZ_TARGETS (all), with coverage (fuzz/README.md)
	@scripts/fuzz $(FUZZ_TARGETS)

fuzz-replay: ## every kept fuzz input once, and short random runs, one with a fresh seed (stable toolchain)
	cd fuzz && $(SHARED) $(CARGO) test --locked

miri: ## the one line of unsafe code under Miri (nightly toolchain with the component miri): seconds, once its library is built
	cd miri && $(CARGO) +nightly miri test --locked --lib

mutations: ## bounds of docs/security.md are removed one after the other; the test of each must notice (scripts/mutations.toml)
	@scripts/mutation-check

soak: setup ## SOAK_SECONDS=600 of attacks, random courses, links that flap, restarts (docs/security-siege.md, docs/security-soak.md)
	$(CARGO) build --locked --release -p hawser-cli
	$(CARGO) build --locked --release -p hawser-sim --example soak --example attacks
	$(CARGO) build --locked --release -p hawser --example siege
	"$${CARGO_TARGET_DIR:-target}/release/examples/attacks"
	@scripts/soak --hawser "$${CARGO_TARGET_DIR:-target}/release/hawser" \
		--siege "$${CARGO_TARGET_DIR:-target}/release/examples/siege" \
		--courses "$${CARGO_TARGET_DIR:-target}/release/examples/soak"

load: setup ## idle connections, handshakes, half-open ones and garbage, each with victims: a table (docs/security-siege.md)
	$(CARGO) build --locked --release -p hawser-cli
	$(CARGO) build --locked --release -p hawser --example siege
	"$${CARGO_TARGET_DIR:-target}/release/examples/siege" "$${CARGO_TARGET_DIR:-target}/release/hawser" --load

advisories: ## published vulnerabilities of dependencies, by a snapshot of the RustSec database; needs no network
	@scripts/advisories

advisories-refresh: ## a new snapshot (network)
	@scripts/advisories --refresh-from-network

sbom: ## what the command is built of: target/packages/hawser.cdx.json (CycloneDX)
	@mkdir -p target/packages
	@scripts/sbom >target/packages/hawser.cdx.json

bench: bench-memory bench-sim bench-bulk bench-aggregate ## next to other stacks: goodput, CPU, aggregation, memory; the simulator (docs/benchmarks.md)

bench-build: setup
	cd bench && $(CARGO) build --locked --release

bench-ns3: ## ns-3, next to which `make bench-sim` sets the simulator if it is there (as root)
	@scripts/setup-ns3

bench-bulk: bench-build ## one long stream, small requests and handshakes over loopback
	cd bench && $${CARGO_TARGET_DIR:-target}/release/bench bulk
	cd bench && $${CARGO_TARGET_DIR:-target}/release/bench requests
	cd bench && $${CARGO_TARGET_DIR:-target}/release/bench handshakes

bench-aggregate: bench-build ## downloads over emulated links, one of them dying (as root)
	cd bench && $${CARGO_TARGET_DIR:-target}/release/bench aggregate
	cd bench && $${CARGO_TARGET_DIR:-target}/release/bench failover

bench-memory: bench-build ## memory per connection and path, allocations and instructions per packet
	cd bench && $${CARGO_TARGET_DIR:-target}/release/bench memory

bench-tunnel: setup ## `hawser tunnel` next to one link alone and the kernel's MPTCP over emulated links (docs/tunnel-figures.md; as root); ROUNDS=5
	$(CARGO) build --locked --release -p hawser-cli
	@scripts/bench-tunnel "$${CARGO_TARGET_DIR:-target}/release/hawser" --rounds $${ROUNDS:-5}

soak-tunnel: setup ## an hour of mixed traffic through `hawser tunnel` while its links come and go (as root); SECONDS_IN_ALL=3600
	$(CARGO) build --locked --release -p hawser-cli
	@scripts/tunnel-soak "$${CARGO_TARGET_DIR:-target}/release/hawser" --seconds $${SECONDS_IN_ALL:-3600}

check-tunnel: setup ## set-ups of docs/tunnel.md, everyday programs, complaints, marks, split, loops through `hawser tunnel` (as root)
	$(CARGO) test --locked -p hawser-cli --test command -- tunnel:: --test-threads 1

interop-tunnel: setup ## `hawser tunnel` and `hawser gateway` with connect-ip-go at the other end (interop/masque; as root)
	$(CARGO) build --locked --release -p hawser-cli
	interop/masque/run --hawser "$${CARGO_TARGET_DIR:-target}/release/hawser"

wifi-vm: setup ## `hawser wifi` over simulated radios in a virtual machine, next to wpa_supplicant with dhcpcd: attach, roam, EAP, unit (docs/wifi.md); ATTACHES=20
	$(CARGO) build --locked --release -p hawser-cli
	@scripts/wifi-vm "$${CARGO_TARGET_DIR:-target}/release/hawser" --attaches $${ATTACHES:-20}

bench-sim: bench-build ## the simulator: speed, where its time goes, memory, sweeps
	cd bench && $${CARGO_TARGET_DIR:-target}/release/bench sim

interop: setup ## foreign stacks as peers, in virtual time, over UDP and behind links (interop/; as root); INTEROP=--allow-missing
	scripts/setup-interop $(INTEROP)
	cd interop && $(CARGO) test --locked --release
	$(CARGO) build --locked --release -p hawser-cli
	@interop/udp/run.py --hawser "$${CARGO_TARGET_DIR:-target}/release/hawser" --built interop/target/udp $(INTEROP)
	@interop/run --hawser "$${CARGO_TARGET_DIR:-target}/release/hawser" --built interop/target/udp $(INTEROP)

interop-fast: ## foreign stacks in virtual time, ten seeds of each script: seconds, once built
	cd interop && $(SHARED) HAWSER_SEEDS=10 $(CARGO) test --locked -p hawser-interop-virtual

live-test: setup ## live video from ffmpeg over three emulated links: one dies, one returns (as root; LIVE_SECONDS=30)
	@command -v ffmpeg >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ffmpeg; }
	$(CARGO) build --locked --release -p hawser-cli
	scripts/live-test --seconds $${LIVE_SECONDS:-30} "$${CARGO_TARGET_DIR:-target}/release/hawser"

live-page-test: setup ## the page of live video in Chromium while links die and return, and a bit rate that follows them (as root; a minute each)
	$(CARGO) build --locked --release -p hawser-cli
	scripts/live-page-test "$${CARGO_TARGET_DIR:-target}/release/hawser"
	scripts/live-rate-test "$${CARGO_TARGET_DIR:-target}/release/hawser"

live-test-long: setup ## the same for ten minutes, with the defaults and with 4D-MAP (as root)
	$(CARGO) build --locked --release -p hawser-cli
	scripts/live-test --seconds 600 --variant default= --variant '4d-map=--policy 4d-map' "$${CARGO_TARGET_DIR:-target}/release/hawser"

live-compare: setup ## live video next to kernel MPTCP and SRT over the links of 4D-MAP (as root; half an hour; COMPARE_SECONDS=30)
	@command -v ffmpeg srt-live-transmit >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ffmpeg srt-tools; }
	$(CARGO) build --locked --release -p hawser-cli
	scripts/live-compare --seconds $${COMPARE_SECONDS:-30} --out live-compare.json "$${CARGO_TARGET_DIR:-target}/release/hawser"

train: prelearn-4d-map prelearn-dqn train-ride train-sscc ## everything that is learned and shipped, from nothing (hours)

train-ride: setup ## the agents of RIDE's list from nothing (docs/ride.md; an hour on two cores; RIDE_JOBS)
	scripts/train-ride

train-sscc: setup ## the models of SSCC from nothing: simulate, train, export (docs/sscc-training.md); SSCC_ENVIRONMENTS=200
	$(CARGO) build --locked --release -p hawser-cli
	scripts/train-sscc "$${CARGO_TARGET_DIR:-target}/release/hawser"

prelearn-4d-map: setup ## the model that the policy 4d-map starts with, from nothing (docs/4d-map-learning.md)
	$(CARGO) build --locked --release -p hawser-cli
	"$${CARGO_TARGET_DIR:-target}/release/hawser" lab prelearn policies/hawser-sched/models

prelearn-dqn: setup ## the network of the scheduler dqn, from nothing (docs/dqn.md)
	$(CARGO) build --locked --release -p hawser-cli
	"$${CARGO_TARGET_DIR:-target}/release/hawser" lab prelearn --dqn policies/hawser-sched/models

portable: setup ## the trace hashes of scenarios with glibc and with musl, which must be the same (target x86_64-unknown-linux-musl)
	@scripts/portable-hashes

clean: ## remove what was built
	$(CARGO) clean
