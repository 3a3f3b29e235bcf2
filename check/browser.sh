#!/usr/bin/env bash
# The live page in a real browser: chromium, headless, driven by chromedriver. Installs both if they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1

if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
    root=""
    if [ "$(id -u)" != 0 ]; then root=sudo; fi
    export DEBIAN_FRONTEND=noninteractive
    $root apt-get update -qq
    $root apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null
fi
# As `cargo test --workspace` builds them: naming crates to cargo would choose other features, and build it all again.
cargo build --quiet --workspace --bins --examples
python3 check/browser/test.py "${CARGO_TARGET_DIR:-target}/debug"
