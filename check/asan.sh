#!/usr/bin/env bash
# The tests under AddressSanitizer, with leaks. Not part of CI: about ten minutes on two cores.
#
#   check/asan.sh                 all crates
#   check/asan.sh CRATE...        only these, such as heist-pool
#   FILTER=waiting check/asan.sh  only tests whose names contain it
#
# Needs a compiler that takes -Zsanitizer, and the sanitizer's library beside it: a nightly toolchain (`rustup toolchain install
# nightly`), or the default one, which is then told to take unstable flags. Where neither has the library, this says so and is content.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(rustc -vV | sed -n 's/^host: //p')

# has_library [+TOOLCHAIN]
has_library() {
    local root
    root=$(rustc "$@" --print sysroot 2>/dev/null) && compgen -G "$root/lib/rustlib/$target/lib/librustc-*_rt.asan.*" >/dev/null
}
if cargo +nightly --version >/dev/null 2>&1 && has_library +nightly; then
    toolchain=+nightly
elif has_library; then
    toolchain="" RUSTC_BOOTSTRAP=1
    export RUSTC_BOOTSTRAP
else
    echo "skipped: neither a nightly toolchain nor the default one has AddressSanitizer's library for $target"
    exit 0
fi
echo "with $(rustc $toolchain --version)"

export RUSTFLAGS="-Zsanitizer=address"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/asan CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_INCREMENTAL=0
export ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS="suppressions=$PWD/check/asan.supp:print_suppressions=0"
# Several times slower.
export HEIST_WATCHDOG_S=${HEIST_WATCHDOG_S:-300}

crates=${*:-heist-sync heist-os heist-trace heist-deque heist-pool heist-fork heist-iter heist-async heist}
# tests ARGUMENT... -- ARGUMENT...
tests() {
    cargo $toolchain test --target "$target" --no-fail-fast "$@"
}
failed=0
# What cannot be run with it: a limit on address space, of which the sanitizer reserves terabytes; descriptors and system calls that are
# refused and that it needs itself; sources that are compiled against this build without its flags. And fenced mode, which
# `HEIST_FENCED=1 check/asan.sh` is for. What is skipped besides follows below.
off_stack="guests:: profile_shapes:: what_a_guest_runs_itself"
without_threads="forked:: little_load:: trace_file::"
tests $(printf -- '-p %s ' $crates) --lib --tests -- --skip limits:: --skip without_descriptors --skip affinity_is_refused \
    --skip everything_is_refused --skip must_not_compile:: --skip in_fenced_mode \
    $(printf -- '--skip %s ' $off_stack $without_threads) ${FILTER:-} || failed=1
if grep -qw heist <<<"${crates//heist-/}"; then
    # Guests, and forks that are measured, ask how much stack is left, and so must be on it: the sanitizer keeps frames elsewhere to see who uses
    # them too late.
    ASAN_OPTIONS=$ASAN_OPTIONS:detect_stack_use_after_return=0 tests -p heist --test it -- $off_stack || failed=1
    # Processes that end beside threads that run, and children without the threads of their parents: what only a thread knew counts as lost.
    ASAN_OPTIONS=${ASAN_OPTIONS/detect_leaks=1/detect_leaks=0} tests -p heist --test own_process -- $without_threads || failed=1
fi
exit $failed
