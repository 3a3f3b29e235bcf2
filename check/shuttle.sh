#!/usr/bin/env bash
# Whole pools under shuttle: random schedules, replayable.
#
#   check/shuttle.sh                                        all models, 2,000 schedules each under two schedulers
#   HEIST_SHUTTLE_ITERATIONS=100000 check/shuttle.sh        more: so many per model and scheduler
#   HEIST_SHUTTLE_REPLAY=<schedule> check/shuttle.sh MODEL  one schedule that failed, as it was printed
set -euo pipefail
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg heist_model --cfg heist_shuttle"
export RUST_BACKTRACE="${RUST_BACKTRACE:-0}"

cargo test -q --profile model -p heist --test shuttle_pool --test shuttle_tasks --test shuttle_ticks -- ${1+--exact "$1" --nocapture}
