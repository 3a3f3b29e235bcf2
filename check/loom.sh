#!/usr/bin/env bash
# All loom models on the code as it ships: the deque, the trace rings, the fork stack, signals, permits and sleeping, run queues,
# the monitor's flag, the driver, tasks, timers, ticks.
#
#   check/loom.sh             all
#   check/loom.sh FILTER      models whose name holds FILTER
#   LOOM_MAX_PREEMPTIONS=3 check/loom.sh     more: at least so many preemptions in each execution, for hours
#
# Each model runs in a process of its own, because loom aborts on a deadlock; the longest come first, two at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
. check/models.sh

# Those that take longest, in this order; all others come after them. A model that is missing here is only begun later.
longest="a_riser_that_forks_against_a_sleeper
force_against_a_full_stack
force_against_pops_and_a_request
nested_forks_against_two_thieves
worker::loom::lend_and_resume
taking_back_the_last_against_two_thieves
two_forces_against_pops
nested_forks_against_a_thief
a_force_on_behalf_of_another_thief"

build_models
# Test target and model, one line each.
models=$(for target in loom_deque loom_injector trace pool async tick; do
    "$(binary_of "$target")" --list 2>/dev/null | sed -n 's/: test$//p' |
        { case $target in loom_*) cat ;; *) grep loom:: ;; esac; } | sed "s/^/$target /"
done | grep -F -- "${1:-}")
models=$(awk '
    NR == FNR { place[++n] = $0; next }
    { rank = n + 1; for (i = n; i >= 1; i--) if (index($2, place[i])) rank = i; print rank, $0 }' \
    <(echo "$longest") <(echo "$models") | sort -s -n -k1,1 | cut -d' ' -f2-)

# run TARGET MODEL: one line about it, and what it printed if it failed.
run() {
    local code=0 output begun=$SECONDS
    output=$(model "$1" "$2") || code=$?
    if [ "$code" -eq 0 ]; then
        echo "passed  $1 $2 ($((SECONDS - begun)) s)"
    else
        # In one piece, so that two failures do not mix.
        printf '%s\n' "$output" "FAILED  $1 $2 with code $code"
    fi
}
export -f run
results=$(xargs -P "$at_once" -L 1 bash -c 'run "$@"' run <<<"$models" | tee >(cat >&2))
passed=$(grep -c '^passed  ' <<<"$results" || true)
count=$(wc -l <<<"$models")
echo "$passed of $count models passed in $SECONDS s"
[ "$passed" -eq "$count" ]
