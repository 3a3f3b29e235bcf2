#!/usr/bin/env bash
# rayon-core's published integration tests, unchanged, with heist in rayon's place; and two programs whose dependencies
# use rayon, with rayon-core and with rayon patched.
# `check/rayon.sh all` also runs rayon's own published integration tests on compat/rayon, which takes minutes more.
# The sources come through cargo; nothing of them is kept in this repository.
set -euo pipefail
cd "$(dirname "$0")/.."
crate=$PWD/crates/heist work=$PWD/target/suite-rayon-core
mkdir -p "$work/src" "$work/fetch/src" "$work/core/src"
cat >"$work/fetch/Cargo.toml" <<'T'
[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[dependencies]
rayon-core = "=1.13.0"
rayon = "=1.12.0"
[workspace]
T
: >"$work/fetch/src/lib.rs"
# source_of CRATE: where cargo keeps it.
source_of() {
    cargo metadata --format-version 1 --manifest-path "$work/fetch/Cargo.toml" | python3 -c '
import json, os, sys
packages = json.load(sys.stdin)["packages"]
print(next(os.path.dirname(p["manifest_path"]) for p in packages if p["name"] == sys.argv[1]))' "$1"
}
printf '[package]\nname="rayon-core"\nversion="0.0.0"\nedition="2021"\n[dependencies]\nheist={path="%s",default-features=false}\n' "$crate" >"$work/core/Cargo.toml"
echo 'pub use heist::*;' >"$work/core/src/lib.rs"
cat >"$work/Cargo.toml" <<'T'
[package]
name = "suite"
version = "0.0.0"
edition = "2021"
[dependencies]
rayon-core = { path = "core" }
[dev-dependencies]
libc = "0.2"
scoped-tls = "1"
rand = "0.9"
crossbeam-utils = "0.8"
[workspace]
[profile.dev]
opt-level = 1
T
: >"$work/src/lib.rs"
rm -rf "$work/tests" && cp -r "$(source_of rayon-core)/tests" "$work/tests"
timeout 600 cargo test --manifest-path "$work/Cargo.toml" --no-fail-fast -- --test-threads 2

cargo test --quiet --manifest-path compat/program/Cargo.toml
cargo test --quiet --manifest-path compat/iterators/Cargo.toml
cargo test --quiet --manifest-path compat/iterators/Cargo.toml --package rayon

if [ "${1:-}" = all ]; then
    suite=$PWD/target/suite-rayon
    mkdir -p "$suite/src"
    cat >"$suite/Cargo.toml" <<T
[package]
name = "suite-rayon"
version = "0.0.0"
edition = "2021"
[dependencies]
rayon = "1.12"
[dev-dependencies]
rand = "0.9"
rand_xorshift = "0.4"
[patch.crates-io]
rayon = { path = "$PWD/compat/rayon" }
[workspace]
[profile.dev]
opt-level = 1
T
    : >"$suite/src/lib.rs"
    rm -rf "$suite/tests" && cp -r "$(source_of rayon)/tests" "$suite/tests"
    # One test wants the names of the pool's threads on all work, so it has to forbid guests.
    cargo test --quiet --manifest-path "$suite/Cargo.toml" --no-fail-fast -- --skip named_threads
    HEIST_GUESTS=0 cargo test --quiet --manifest-path "$suite/Cargo.toml" --test named-threads
fi
