# The ways into this checkout. `make` alone lists them; what a recipe needs more than three lines for is in scripts/.
.DEFAULT_GOAL := help
# A fresh checkout builds each crate once: what is written down for building a crate again in part costs time and space.
export CARGO_INCREMENTAL ?= 0
.PHONY: help run test soak bench fmt lint clean

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile

run: ## build the release binaries and run the real job: a monolith against a butterfly
	cargo build --release --locked -p hairstreak-cli -p hairstreak-bench -p textjob
	@$${CARGO_TARGET_DIR:-target}/release/textjob

test: ## install what the tests need, then run every test
	scripts/test

soak: ## run lint and the long forms of the tests and the fuzzers (SOAK_SECONDS each, an hour by default)
	scripts/test-setup && $(MAKE) --no-print-directory lint && scripts/soak

bench: ## compare the sockets with libzmq in the same run
	cargo run --release --locked -q -p hairstreak-bench -- sockets

fmt: ## format the sources
	cargo fmt --all

lint: ## check the format, clippy, the documentation's links and the house rules
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -q -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked -q
	cargo run -q --locked -p xtask -- tidy

clean: ## remove everything that was built or installed here
	cargo clean
	rm -rf .venv .jeromq .perf-test .go .rabbitmqadmin
