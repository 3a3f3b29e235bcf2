#!/usr/bin/env bash
# Plants each known bug (src/planted.rs) and expects the models named beside it to fail; then runs all models without one.
# A checker that cannot fail proves nothing.
#
#   ./planted.sh            all bugs
#   ./planted.sh NAME...    only these
#
# Every model runs in a process of its own: loom aborts on a deadlock. The bug is passed to this workspace's crates alone, by
# a compiler wrapper, so that the dependencies are built once. The long way: RUSTFLAGS='--cfg heist_loom --cfg heist_planted="NAME"'.
set -euo pipefail
cd "$(dirname "$0")"
export RUSTFLAGS="--cfg heist_loom"
target=${CARGO_TARGET_DIR:-../../target}
mkdir -p "$target/planted"
target=$(cd "$target" && pwd)

# bug                 the models of which every one must catch it
bugs="
no_barrier            loom_deque::force_against_pops_with_the_asymmetric_barrier
no_fence              loom_deque::force_against_pops_fenced
read_before_claim     loom_deque::push_share_pop_push_against_a_thief
relaxed_publish       loom_deque::push_share_pop_push_against_a_thief
relaxed_head          loom_deque::force_against_pushes
relaxed_take_back     loom_deque::force_after_the_owner_took_items_back
relaxed_expose        loom_deque::a_force_on_behalf_of_another_thief
relaxed_done          loom_deque::a_slot_is_reused_only_after_it_was_read
reuse_unread          loom_deque::a_slot_is_reused_only_after_it_was_read
restore_keeps_word    loom_deque::force_against_pops_with_the_asymmetric_barrier
restore_after_word    loom_deque::force_against_an_answer_to_an_earlier_request loom_deque::a_request_survives_the_answer_to_another
last_without_cas      loom_deque::owner_and_thief_on_the_last_shared_item
stale_buffer          loom_deque::growth_against_a_thief
newest_buffer         loom_deque::growth_against_a_thief
grow_unheld           loom_deque::growth_against_a_force
push_unfenced         loom_injector::a_push_is_not_missed_by_a_consumer_that_goes_to_sleep
"

# model BUG TARGET TEST: runs one model with one bug ("" for none); its exit code is the model's.
model() {
    local bug=$1 file=$2 test=$3 wrapper=$target/planted/rustc-${1:-none}
    if [ -n "$bug" ]; then
        printf '#!/bin/sh\nexec "$@" --cfg "heist_planted=\\"%s\\""\n' "$bug" >"$wrapper"
    else
        printf '#!/bin/sh\nexec "$@"\n' >"$wrapper"
    fi
    chmod +x "$wrapper"
    RUSTC_WORKSPACE_WRAPPER=$wrapper cargo test -q --release -p heist-deque --test "$file" --no-run 2>"$wrapper.log" || {
        cat "$wrapper.log" >&2
        exit 2
    }
    RUSTC_WORKSPACE_WRAPPER=$wrapper timeout 300 cargo test -q --release -p heist-deque --test "$file" -- --exact "$test" \
        >"$wrapper.log" 2>&1
}

missed=0
while read -r bug models; do
    [ -n "$bug" ] || continue
    if [ $# -gt 0 ] && ! printf '%s\n' "$@" | grep -qx "$bug"; then continue; fi
    for m in $models; do
        if ! model "" "${m%%::*}" "${m##*::}"; then
            echo "BROKEN  ${m##*::} fails without any bug"
            missed=1
        elif model "$bug" "${m%%::*}" "${m##*::}"; then
            echo "MISSED  $bug by ${m##*::}"
            missed=1
        else
            echo "caught  $bug by ${m##*::}"
        fi
    done
done <<<"$bugs"
exit $missed
