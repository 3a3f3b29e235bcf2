#!/usr/bin/env bash
# Instructions per fork, by callgrind: fib(N) on one worker for two values of N. The difference of the counts
# divided by the difference of the forks leaves out the start of the program and of the pool.
# Use: bench/instructions.sh [--no-default-features] [BACKEND ...]
set -euo pipefail
cd "$(dirname "$0")"

features=()
if [[ ${1:-} == --no-default-features ]]; then
    features=(--no-default-features)
    shift
fi

if ! command -v valgrind >/dev/null; then
    apt-get install -y valgrind >&2
fi

cargo build --release --quiet "${features[@]}"
program=${CARGO_TARGET_DIR:-target}/release/heist-bench

if (($# > 0)); then
    backends=("$@")
elif ((${#features[@]} > 0)); then
    backends=(serial rayon chili)
else
    backends=(serial rayon chili heist-join heist-fork)
fi

small=20
large=25

# fib(N) forks once for each call with N >= 2: fib(N + 1) - 1 times.
forks() {
    local a=0 b=1 i
    for ((i = 0; i < $1; i++)); do
        ((b += a, a = b - a)) || true
    done
    echo $((b - 1))
}

count() {
    local log
    log=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" fib-once "$1" "$2" 2>&1 >/dev/null) || {
        echo "$log" >&2
        return 1
    }
    sed -n 's/.*Collected : //p' <<<"$log"
}

forks_between=$(($(forks $large) - $(forks $small)))
printf '%-12s %14s %14s %12s\n' backend "fib($small)" "fib($large)" "per fork"
for backend in "${backends[@]}"; do
    low=$(count "$backend" $small)
    high=$(count "$backend" $large)
    per_fork=$(awk -v d=$((high - low)) -v f=$forks_between 'BEGIN { printf "%.1f", d / f }')
    printf '%-12s %14d %14d %12s\n' "$backend" "$low" "$high" "$per_fork"
done
