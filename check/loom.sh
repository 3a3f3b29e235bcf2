#!/usr/bin/env bash
# All loom models on the code as it ships: the deque, the trace rings, the fork stack, signals, sleeping and permits, run queues,
# the driver's seat, tasks, timers.
#
#   check/loom.sh             all
#   check/loom.sh FILTER      models whose name holds FILTER
set -euo pipefail
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg heist_loom"
# loom aborts on a deadlock, and an abort symbolises its backtrace: minutes, with debug information.
export CARGO_PROFILE_RELEASE_DEBUG=0 RUST_BACKTRACE=0

cargo test -q --release -p heist-deque --test loom_deque --test loom_injector -- ${1+"$1"}
cargo test -q --release -p heist-trace --lib -- "${1:-loom}"
cargo test -q --release -p heist-pool --lib -- "${1:-loom}"
cargo test -q --release -p heist-async --lib -- "${1:-loom}"
