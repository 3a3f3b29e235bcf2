#!/usr/bin/env bash
# rayon-core's published integration tests, unchanged, with heist in rayon's place; and a program whose dependencies use rayon.
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
[workspace]
T
: >"$work/fetch/src/lib.rs"
source=$(cargo metadata --format-version 1 --manifest-path "$work/fetch/Cargo.toml" |
  python3 -c 'import json,sys,os; print(next(os.path.dirname(p["manifest_path"]) for p in json.load(sys.stdin)["packages"] if p["name"]=="rayon-core"))')
printf '[package]\nname="rayon-core"\nversion="0.0.0"\nedition="2021"\n[dependencies]\nheist={path="%s"}\n' "$crate" >"$work/core/Cargo.toml"
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
rm -rf "$work/tests" && cp -r "$source/tests" "$work/tests"
timeout 600 cargo test --manifest-path "$work/Cargo.toml" --no-fail-fast -- --test-threads 2

cargo test --quiet --manifest-path compat/program/Cargo.toml
