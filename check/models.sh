# Sourced by check/loom.sh and check/planted.sh: one build of all loom models for both, and a way to run one.
#
# Always with the planted bugs, of which HEIST_PLANTED chooses one at run time, and none if it is not set: `is_planted` touches
# nothing that loom sees, so the models explore as much as without.
export RUSTFLAGS="--cfg heist_model --cfg heist_loom --cfg heist_planted"
# loom aborts on a deadlock, and an abort symbolises its backtrace.
export RUST_BACKTRACE=0
# A directory of its own: other flags would throw away what other checks have built.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/loom
# How many models run at once. Each has one thread that computes.
at_once=2
# Seconds after which a model counts as hung; whoever asks for more preemptions than it has by itself waits.
export limit_s=1800
if [ -n "${LOOM_MAX_PREEMPTIONS:-}" ]; then limit_s=86400; fi

# Builds the models; $binaries is then one line for each test binary.
build_models() {
    local log
    log=$(cargo test --profile model -p heist-deque -p heist-trace -p heist-pool -p heist-async -p heist-tick --lib --test 'loom_*' --no-run 2>&1) ||
        { echo "$log" >&2; exit 2; }
    binaries=$(sed -n 's/.*Executable.*(\(.*\))/\1/p' <<<"$log")
    export binaries
}

# binary_of TARGET: the path of a test binary, by the name of the test target or of the crate.
binary_of() {
    grep -E "/(heist_)?$1-[0-9a-f]+$" <<<"$binaries"
}

# model TARGET NAME: runs one model in a process of its own. Prints what it printed, and returns 0 only if it ran and passed, 101
# after a panic, 134 after an abort.
model() {
    local binary output code=0
    binary=$(binary_of "$1")
    # The inner shell's own message about an abort goes nowhere.
    output=$( (timeout "$limit_s" "$binary" --exact "$2" --nocapture 2>&1) 2>/dev/null) || code=$?
    echo "$output"
    if [ "$code" -eq 0 ] && ! grep -q '^test result: ok. 1 passed' <<<"$output"; then return 3; fi
    return "$code"
}
export -f model binary_of
