#!/usr/bin/env bash
# Instructions per fork, by callgrind: fib(N) on one worker for two values of N. The difference of the counts
# divided by the difference of the forks leaves out the start of the program and of the pool. In the same way, instructions of a look for
# work where there is none, alone and with three others: the difference is a round over three queues.
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
    log=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" 2>&1 >/dev/null) || {
        echo "$log" >&2
        return 1
    }
    sed -n 's/.*Collected : //p' <<<"$log"
}

forks_between=$(($(forks $large) - $(forks $small)))
printf '%-12s %14s %14s %12s\n' backend "fib($small)" "fib($large)" "per fork"
for backend in "${backends[@]}"; do
    low=$(count fib-once "$backend" $small)
    high=$(count fib-once "$backend" $large)
    per_fork=$(awk -v d=$((high - low)) -v f=$forks_between 'BEGIN { printf "%.1f", d / f }')
    printf '%-12s %14d %14d %12s\n' "$backend" "$low" "$high" "$per_fork"
done

((${#features[@]} == 0)) || exit 0
few=20000
many=120000
printf '\n%-12s %14s %14s %12s\n' workers "$few looks" "$many looks" "per look"
for workers in 1 4; do
    low=$(count look-once $workers $few)
    high=$(count look-once $workers $many)
    printf '%-12s %14d %14d %12d\n' $workers "$low" "$high" $(((high - low) / (many - few)))
done
