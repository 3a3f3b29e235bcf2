#!/usr/bin/env bash
# Plants each known bug, one at a time, and expects the model named beside it to fail. A checker that cannot fail proves
# nothing. That the same models pass without a bug is what check/loom.sh shows.
#
#   check/planted.sh            all bugs
#   check/planted.sh NAME...    only these
#
# A bug is an `is_planted("NAME")` in the code, next to the line that it breaks. One build holds them all, the one that
# check/loom.sh runs too, and HEIST_PLANTED chooses one at run time. Every model runs in a process of its own, two at a time: loom
# aborts on a deadlock.
set -euo pipefail
cd "$(dirname "$0")/.."
. check/models.sh

# bug, test target, models; every model must catch it.
bugs="
no_barrier                   loom_deque force_against_pops_with_the_asymmetric_barrier
no_fence                     loom_deque force_against_pops_fenced
read_before_claim            loom_deque push_share_pop_push_against_a_thief
relaxed_publish              loom_deque push_share_pop_push_against_a_thief
relaxed_head                 loom_deque force_against_pushes
relaxed_take_back            loom_deque force_after_the_owner_took_items_back
relaxed_expose               loom_deque a_force_on_behalf_of_another_thief
relaxed_done                 loom_deque a_slot_is_reused_only_after_it_was_read
reuse_unread                 loom_deque a_slot_is_reused_only_after_it_was_read
restore_keeps_word           loom_deque force_against_pops_with_the_asymmetric_barrier
restore_after_word           loom_deque force_against_an_answer_to_an_earlier_request a_request_survives_the_answer_to_another
last_without_cas             loom_deque owner_and_thief_on_the_last_shared_item
stale_buffer                 loom_deque growth_against_a_thief
newest_buffer                loom_deque growth_against_a_thief
grow_unheld                  loom_deque growth_against_a_force
push_unfenced                loom_injector a_push_is_not_missed_by_a_consumer_that_goes_to_sleep

fork_pop_no_barrier          pool queues::forks::loom::force_against_pops
fork_word_before_bound       pool queues::forks::loom::force_against_pops_that_answer
fork_push_no_barrier         pool queues::forks::loom::a_push_sees_the_request_or_is_seen
fork_no_epoch                pool queues::forks::loom::steal_back_takes_no_stranger_above
fork_no_floor                pool queues::forks::loom::steal_back_takes_no_stranger_below
fork_strangers_uncounted     pool queues::forks::loom::steal_back_takes_no_stranger_on_top queues::forks::loom::steal_back_takes_no_stranger_on_top_of_a_descendant queues::forks::loom::steal_back_forces_no_stranger_open_for_itself
fork_strangers_counted_too_early pool queues::forks::loom::steal_back_takes_no_stranger_on_top
fork_leave_no_fence          pool queues::forks::loom::leaving_against_a_visit
fork_done_in_two_steps       pool queues::forks::loom::a_wait_against_the_end
fork_force_beyond_the_end    pool queues::forks::loom::force_against_a_full_stack
fork_outcome_after_done      pool queues::forks::loom::measured_halves_against_their_owner

permit_observed_unseen       pool permits::loom::an_observation_against_a_take_back permits::loom::an_observation_against_a_revocation
permit_taken_though_observed pool permits::loom::an_observation_against_a_take_back permits::loom::an_observation_against_a_revocation
permit_wanted_seen_too_early pool permits::loom::a_job_boundary_against_a_take_back
permit_wanted_too_late       pool permits::loom::a_job_boundary_against_a_take_back permits::loom::two_take_backs_of_one_permit
permit_active_again_unmarks  pool permits::loom::a_resize_against_a_take_back
permit_active_again_is_free  pool permits::loom::a_resize_against_one_who_wants_any
permit_grant_forgotten       pool worker::loom::a_grant_to_help_against_the_end_of_the_wait
permit_granted_is_kept       pool worker::loom::a_grant_of_another_permit_against_the_end_of_an_observed_wait
permit_grant_search_kept     pool worker::loom::a_grant_to_help_against_the_end_of_the_wait worker::loom::a_grant_to_help_against_the_end_of_an_observed_wait

overtaker_no_last_look       pool worker::loom::an_overtaker_that_sleeps_against_a_task worker::loom::a_searcher_that_sleeps_against_an_overtaker_that_blocks
overtaker_uncounted_too_late pool worker::loom::an_overtaker_that_sleeps_against_a_task
idle_arm_before_count        pool worker::loom::sleep_against_an_answer
idle_clear_after_counters    pool worker::loom::sleep_against_an_answer
idle_no_last_look            pool worker::loom::sleep_against_an_injected_job
idle_last_searcher_is_silent pool worker::loom::two_sleepers_against_two_jobs
idle_finder_asks_nobody      pool worker::loom::a_finder_that_forks_against_a_sleeper
idle_spawn_unfenced          pool worker::loom::sleep_against_a_spawned_job
idle_broadcast_left          pool worker::loom::a_broadcast_to_a_sleeper_against_the_last_searcher
idle_riser_asks_nobody       pool worker::loom::a_riser_that_forks_against_a_sleeper
idle_alone_is_believed       pool worker::loom::a_riser_that_forks_against_a_sleeper
idle_guest_never_looks       pool worker::loom::a_guest_that_leaves_beside_a_busy_thread

ring_take_without_cas        pool queues::run_queue::loom::ring_pop_against_a_thief queues::run_queue::loom::ring_two_thieves
parker_unpark_forgets_elsewhere       pool driver_lock::loom::a_permit_against_sleeping_in_the_driver driver_lock::loom::two_permits_against_sleeping_in_the_driver
parker_looks_before_it_goes_elsewhere pool driver_lock::loom::a_permit_against_sleeping_in_the_driver
driver_unannounced           pool worker::loom::sleep_against_the_first_registration
signal_late_parker           pool signal::loom::set_against_wait_and_free
monitor_watch_no_barrier     pool monitor::flag::loom::a_task_against_the_monitor_that_forgets
monitor_forget_no_barrier    pool monitor::flag::loom::a_task_against_the_monitor_that_forgets
monitor_no_second_look       pool monitor::flag::loom::a_task_against_the_monitor_that_forgets monitor::flag::loom::two_tasks_against_the_monitor_that_forgets

task_wake_of_a_running_one_is_lost async task::loom::two_wakes_against_polls
task_second_wake_is_a_load         async task::loom::two_wakes_against_polls
task_awaiter_comes_too_late        async task::loom::awaiting_against_the_end
task_leaves_before_it_tells        async task::loom::awaiting_against_the_end
task_last_to_go_forgets_it         async task::loom::the_last_waker_against_the_handle
task_block_on_forgets_a_wake       async block_on::loom::a_sleep_against_wakes
driver_begin_no_fence              async driver::loom::timer_insert_against_a_turn
driver_no_second_look              async driver::loom::reactor_opened_against_a_turn
driver_source_one_look             async driver::loom::event_against_a_wait

tick_hasten_unfenced               pool worker::loom::ticks::an_earlier_tick_against_the_announcement_of_a_wait
tick_cancel_ignores_the_taker      tick cell::loom::a_cancel_against_a_run
tick_end_forgets_closures          tick cell::loom::a_submit_against_a_cancel
tick_thief_leaves_it               tick cell::loom::a_thief_against_the_owner cell::loom::two_thieves

trace_no_recheck             trace ring::loom::one_slot_is_overwritten_while_it_is_read
trace_no_fence               trace ring::loom::one_slot_is_overwritten_while_it_is_read
"

# A bug that is only in the list would be missed, one that is only in the sources never tried.
listed=$(awk 'NF { print $1 }' <<<"$bugs" | sort -u)
planted=$(grep -rhoE --include='*.rs' 'is_planted\("[^"]*"' crates | cut -d'"' -f2 | sort -u)
if [ "$listed" != "$planted" ]; then
    comm -23 <(echo "$listed") <(echo "$planted") | sed 's/^/listed here, but no is_planted("NAME") in crates: /' >&2
    comm -13 <(echo "$listed") <(echo "$planted") | sed 's/^/is_planted("NAME") in crates, but not listed here: /' >&2
    exit 2
fi
for name in "$@"; do
    grep -qx -- "$name" <<<"$listed" || { echo "no such bug: $name" >&2; exit 2; }
done

# One line for each model to run: number, bug, test target, model.
runs=$(awk -v only="$*" '
    BEGIN { n = split(only, names, " "); for (i in names) wanted[names[i]] }
    NF && (n == 0 || $1 in wanted) { for (i = 3; i <= NF; i++) print ++number, $1, $2, $i }' <<<"$bugs")

build_models

# run NUMBER BUG TARGET MODEL: prints the number and what came of it.
run() {
    local code=0
    HEIST_PLANTED=$2 model "$3" "$4" >/dev/null || code=$?
    # 101 is a panic, 134 an abort; anything else is not an answer.
    case $code in
        101 | 134) echo "$1 caught  $2 by $4" ;;
        0) echo "$1 MISSED  $2 by $4" ;;
        *) echo "$1 BROKEN  $2: $4 ended with code $code" ;;
    esac
}
export -f run
results=$(xargs -P "$at_once" -L 1 bash -c 'run "$@"' run <<<"$runs" | sort -n | cut -d' ' -f2-)
echo "$results"
passed=$(grep -c '^caught' <<<"$results" || true)
failed=$(($(wc -l <<<"$runs") - passed))
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
