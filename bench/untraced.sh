#!/usr/bin/env bash
# What it costs that heist can record at all: the benchmark as it is against a build that cannot, in alternation. The bar is 2 % of `spawn`.
# Use: bench/untraced.sh [LINE ...] [ROUNDS=21]
set -euo pipefail
cd "$(dirname "$0")"

target=${CARGO_TARGET_DIR:-$PWD/target}
cargo build --release --quiet
RUSTFLAGS="--cfg heist_no_trace" CARGO_TARGET_DIR=$target/untraced cargo build --release --quiet
arguments=("$@")
[[ " $* " == *" ROUNDS="* ]] || arguments+=(ROUNDS=21)
[[ " $* " =~ [a-z] ]] || arguments=(spawn "${arguments[@]}")
export BAR=${BAR:-1.02}
exec ./compare.sh "$target/untraced/release/heist-bench" "$target/release/heist-bench" "${arguments[@]}"
