#!/usr/bin/env bash
# Makes the pictures in docs/images: the timeline of the demo, and the live page, with chromium as `check/browser.sh` installs it.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1
cargo build --quiet --workspace --bins
"${CARGO_TARGET_DIR:-target}/debug/heist" demo --svg docs/images/timeline.svg >/dev/null
python3 check/browser/screenshots.py "${CARGO_TARGET_DIR:-target}/debug/heist" docs/images
