#!/usr/bin/env bash
# Everything that CI runs, in the order in which it fails fastest. Needs a Rust toolchain with rustfmt and clippy, and python3.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

say "format";  cargo fmt --all -- --check
say "clippy";  cargo clippy --workspace --all-targets -- -D warnings
say "docs";    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
say "tests";   cargo test --workspace --quiet
say "tests, features"; cargo test --quiet -p heist-async --features hyper,tracing
say "tests, fenced forks"; HEIST_FENCED=1 cargo test --quiet -p heist -p heist-pool -p heist-deque --lib --tests
say "stress";  cargo test --release --quiet -p heist --test exactly_once --test mix --test barrier
say "loom";    bash check/loom.sh
say "shuttle"; bash check/shuttle.sh
say "planted bugs"; bash check/planted.sh
say "rayon-core's published tests"; bash check/rayon.sh
say "benchmarks build, and their own tests pass"; cargo test --release --quiet --manifest-path bench/Cargo.toml
say "all good"
