#!/usr/bin/env bash
# Everything that CI runs, in the order in which it fails fastest. Needs a Rust toolchain with rustfmt and clippy, and python3.
set -euo pipefail
cd "$(dirname "$0")/.."

# Built once and thrown away: no debug information, nothing kept for the next build, and one directory for all workspaces.
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_INCREMENTAL=0
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}

# say STEP: how long the one before took, and when this one begins.
step="" begun=0 took=""
say() {
    if [ -n "$step" ]; then
        printf -- '-- %s took %ss\n' "$step" $((SECONDS - begun))
        took+=$(printf '%5ss  %s' $((SECONDS - begun)) "$step")$'\n'
    fi
    step=$1 begun=$SECONDS
    printf '\n== %s (%ss)\n' "$step" "$SECONDS"
}
# What has taken how long, however it ends. What runs beside it ends with it.
models=""
trap '[ -z "$models" ] || kill -- "-$models" 2>/dev/null; printf "\n%s%5ss  in all\n" "$took" "$SECONDS"' EXIT

say "format";  cargo fmt --all -- --check
say "clippy";  cargo clippy --workspace --all-targets -- -D warnings
say "features"
for features in "" async net tick hyper,tracing live trace-output; do
    cargo clippy --quiet -p heist --no-default-features --features "$features" -- -D warnings
done
# What a program that only forks and loops builds besides heist itself. rayon's own number is 5.
others=$(cargo tree -p heist --no-default-features -e normal --prefix none | awk '{print $1}' | sort -u | grep -v '^heist')
[ "$(wc -l <<<"$others")" -le 6 ] || { echo "too many crates of others without features:" $others >&2; exit 1; }
say "docs";    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
say "tests, build"; cargo test --workspace --quiet --no-run

# Most tests wait for most of their time. The models only compute: beside all that follows, they get what it leaves of the cores, and give
# way at once.
log=$CARGO_TARGET_DIR/models.log
idle="nice -n 19"
if command -v chrt >/dev/null; then idle="chrt --idle 0"; fi
set -m
$idle bash -eu -c '
    say() { SECONDS=0; "${@:2}"; printf -- "-- %s took %ss\n\n" "$1" "$SECONDS"; }
    say "stress, build" cargo test --release --quiet -p heist --test stress --no-run
    for models in shuttle loom planted; do say "$models" bash "check/$models.sh"; done' </dev/null >"$log" 2>&1 &
models=$!
set +m

nodes=$PWD/crates/heist/tests/fixtures/two_nodes
say "tests; again with fenced forks on two made-up nodes, without hints from the system"
python3 check/tests.py "HEIST_STRESS=0.4 HEIST_FENCED=1 HEIST_TOPOLOGY=$nodes:heist,heist-async,heist-pool,heist-deque" \
    "HEIST_STRESS=0.4 HEIST_OS_HINTS=0:heist,heist-async,heist-pool"
say "tests, features"; cargo test --quiet -p heist-async --features hyper,signal,tracing --lib --test task_tracing
cargo test --quiet -p heist --features tracing --doc trace::
say "the live page in a browser"; bash check/browser.sh
say "stress";  cargo test --release --quiet -p heist --test stress
say "rayon-core's published tests"; bash check/rayon.sh
say "benchmarks build, and their own tests pass"; cargo test --quiet --manifest-path bench/Cargo.toml
say "shuttle, loom, planted bugs, the rest"
ended=0; wait "$models" || ended=$?
models=""
cat "$log"
[ "$ended" -eq 0 ]
say "all good"
