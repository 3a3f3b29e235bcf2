#!/usr/bin/env bash
# Makes the pictures of the live page in docs/images, with chromium as `check/browser.sh` installs it.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1
cargo build --quiet --workspace --bins
python3 check/browser/screenshots.py "${CARGO_TARGET_DIR:-target}/debug/heist" docs/images
