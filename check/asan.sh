#!/usr/bin/env bash
# The tests of heist and heist-async under AddressSanitizer, with leaks. Not part of CI.
#
#   check/asan.sh             all
#   check/asan.sh FILTER...   tests whose names contain one of these
#
# Needs a compiler that takes -Zsanitizer, and the sanitizer's library beside it: a nightly toolchain, or the default one, which is
# then told to take unstable flags. Where neither has the library, this says so and is content.
set -euo pipefail
cd "$(dirname "$0")/.."
target=x86_64-unknown-linux-gnu

# has_library [+TOOLCHAIN]
has_library() {
    local root
    root=$(rustc "$@" --print sysroot 2>/dev/null) && compgen -G "$root/lib/rustlib/$target/lib/librustc-*_rt.asan.a" >/dev/null
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

# What cannot be run with it: a limit on address space, of which the sanitizer reserves terabytes; and sources that are compiled
# against this build without its flags.
cargo $toolchain test --target "$target" --no-fail-fast -p heist -p heist-async --lib --tests -- \
    --skip limits:: --skip must_not_compile:: "$@"
