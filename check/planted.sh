#!/usr/bin/env bash
# Plants each known bug, one at a time, and expects the model named beside it to fail. A checker that cannot fail proves
# nothing. That the same models pass without a bug is what check/loom.sh shows.
#
#   check/planted.sh            all bugs
#   check/planted.sh NAME...    only these
#
# A bug is a `heist_planted = "NAME"` in the code, next to the line that it breaks. It is passed to this workspace's crates
# alone, by a compiler wrapper, so that dependencies are built once. Bugs that cannot meet share a build: a model of the fork
# stack does not touch the deque, one of the deque nothing else. Every model runs in a process of its own: loom aborts on a
# deadlock.
set -euo pipefail
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg heist_loom"
export CARGO_PROFILE_RELEASE_DEBUG=0 RUST_BACKTRACE=0
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/planted"
target=$(cd "$target" && pwd)

# bug, test target, models; every model must catch it.
forks="
fork_pop_no_barrier          pool forks::loom::force_against_pops
fork_word_before_bound       pool forks::loom::force_against_pops_that_answer
fork_push_no_barrier         pool forks::loom::a_push_sees_the_request_or_is_seen
fork_no_epoch                pool forks::loom::steal_back_takes_no_stranger_above
fork_no_floor                pool forks::loom::steal_back_takes_no_stranger_below
fork_leave_no_fence          pool forks::loom::leaving_against_a_visit
fork_done_in_two_steps       pool forks::loom::a_wait_against_the_end
fork_force_beyond_the_end    pool forks::loom::force_against_a_full_stack
"
idle="
idle_arm_before_count        pool worker::loom::sleep_against_an_answer
idle_clear_after_counters    pool worker::loom::sleep_against_an_answer
idle_no_last_look            pool worker::loom::sleep_against_an_injected_job
idle_last_searcher_is_silent pool worker::loom::two_sleepers_against_two_jobs
idle_spawn_unfenced          pool worker::loom::sleep_against_a_spawned_job
"
tasks="
ring_take_without_cas        pool tasks::loom::ring_pop_against_a_thief tasks::loom::ring_two_thieves
attend_unfenced              pool attend::loom::a_gift_against_sleeping_in_the_driver
attend_unannounced           pool worker::loom::sleep_against_the_first_registration
"
async="
task_wake_of_a_running_one_is_lost async task::loom::two_wakes_against_polls
task_second_wake_is_a_load         async task::loom::two_wakes_against_polls
task_awaiter_comes_too_late        async task::loom::awaiting_against_the_end
task_leaves_before_it_tells        async task::loom::awaiting_against_the_end
task_last_to_go_forgets_it         async task::loom::the_last_waker_against_the_handle
task_block_on_forgets_a_wake       async block_on::loom::a_sleep_against_wakes
driver_begin_no_fence              async driver::loom::timer_insert_against_a_turn
driver_no_second_look              async driver::loom::reactor_opened_against_a_turn
driver_source_one_look             async driver::loom::event_against_a_wait
"
others="
signal_late_parker           pool signal::loom::set_against_wait_and_free
trace_no_recheck             trace ring::loom::one_slot_is_overwritten_while_it_is_read
trace_no_fence               trace ring::loom::one_slot_is_overwritten_while_it_is_read
"
# The deque keeps its own list, with `file::model`.
deque=$(sed -n '/^bugs="/,/^"/p' crates/heist-deque/planted.sh | sed '1d;$d' |
    awk 'NF { split($2, m, "::"); models = ""; for (i = 2; i <= NF; i++) { split($i, m, "::"); models = models " " m[2] } print $1, m[1], models }')

passed=0
failed=0
report() {
    echo "$1"
    case $1 in caught*) passed=$((passed + 1)) ;; *) failed=$((failed + 1)) ;; esac
}

# build WRAPPER TARGET: prints the test binary.
build() {
    local args
    case $2 in
        pool) args="-p heist-pool --lib" ;;
        trace) args="-p heist-trace --lib" ;;
        async) args="-p heist-async --lib" ;;
        *) args="-p heist-deque --test $2" ;;
    esac
    # shellcheck disable=SC2086
    RUSTC_WORKSPACE_WRAPPER=$1 cargo test --release $args --no-run >"$1.log" 2>&1 || {
        cat "$1.log" >&2
        return 2
    }
    sed -n 's/.*Executable.*(\(.*\))/\1/p' "$1.log"
}

# plant LINE...: the bugs of one build.
plant() {
    local wrapper flags="" name="" line bug file models model binary code
    for line in "$@"; do
        bug=${line%% *}
        name="$name-$bug"
        flags="$flags --cfg 'heist_planted=\"$bug\"'"
    done
    wrapper=$target/planted/rustc$name
    printf '#!/bin/sh\nexec "$@"%s\n' "$flags" >"$wrapper"
    chmod +x "$wrapper"
    for line in "$@"; do
        read -r bug file models <<<"$line"
        binary=$(build "$wrapper" "$file")
        for model in $models; do
            code=$( (timeout 120 "$binary" --exact "$model" >"$wrapper.out" 2>&1; echo $?) 2>/dev/null)
            # 101 is a panic, 134 an abort; anything else is not an answer.
            case $code in
                101 | 134) report "caught  $bug by $model" ;;
                0) report "MISSED  $bug by $model" ;;
                *) report "BROKEN  $bug: $model ended with code $code" ;;
            esac
        done
    done
}

wanted() {
    [ -n "$1" ] && { [ ${#only[@]} -eq 0 ] || printf '%s\n' "${only[@]}" | grep -qx "${1%% *}"; }
}
only=("$@")

# pair LIST LIST: plants the lists side by side.
pair() {
    local left right a b set
    mapfile -t left < <(grep . <<<"$1")
    mapfile -t right < <(grep . <<<"$2")
    for ((i = 0; i < ${#left[@]} || i < ${#right[@]}; i++)); do
        a=${left[i]:-} b=${right[i]:-} set=()
        if wanted "$a"; then set+=("$a"); fi
        if wanted "$b"; then set+=("$b"); fi
        if [ ${#set[@]} -gt 0 ]; then plant "${set[@]}"; fi
    done
}
pair "$deque" "$forks"
pair "$idle" "$others"
pair "$tasks" "$async"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
