//! Deliberately broken variants: `check/planted.sh` asserts that a model catches every one. In a normal build each function
//! folds to the correct protocol.

use heist_sync::atomic::{Ordering, fence};
use heist_sync::barrier;
use heist_sync::planted::is_planted;

#[inline(always)]
fn ordering(planted: bool, correct: Ordering) -> Ordering {
    if planted { Ordering::Relaxed } else { correct }
}

/// `relaxed_publish`: the owner's publish no longer carries the slots' contents (E1).
#[inline(always)]
pub(crate) fn publish() -> Ordering {
    ordering(is_planted("relaxed_publish"), Ordering::Release)
}

/// `relaxed_head`: a forcing thief may publish items whose contents it has not seen (E3).
#[inline(always)]
pub(crate) fn head_store() -> Ordering {
    ordering(is_planted("relaxed_head"), Ordering::Release)
}

/// `relaxed_take_back`: a force that begins after the owner took items back may read the head from before (E6).
#[inline(always)]
pub(crate) fn take_back() -> Ordering {
    ordering(is_planted("relaxed_take_back"), Ordering::Release)
}

/// `relaxed_expose`: a forcing thief shares items without passing on what it has seen of their contents (E1).
#[inline(always)]
pub(crate) fn expose() -> Ordering {
    ordering(is_planted("relaxed_expose"), Ordering::Release)
}

/// `relaxed_done`: the owner may overwrite a slot while a thief still reads it (E2).
#[inline(always)]
pub(crate) fn done_store() -> Ordering {
    ordering(is_planted("relaxed_done"), Ordering::Release)
}

/// `read_before_claim`: the thief reads the slot, then claims it.
#[inline(always)]
pub(crate) fn read_before_claim() -> bool {
    is_planted("read_before_claim")
}

/// `restore_keeps_word`: the owner's transitions leave a force in progress alone, so that it succeeds with a stale head (I5).
#[inline(always)]
pub(crate) fn keep_force() -> bool {
    is_planted("restore_keeps_word")
}

/// `restore_after_word`: the owner restores its pop bound after it has changed the word instead of before.
#[inline(always)]
pub(crate) fn restore_late() -> bool {
    is_planted("restore_after_word")
}

/// `last_without_cas`: the owner takes the last shared item back with a plain store.
#[inline(always)]
pub(crate) fn last_without_cas() -> bool {
    is_planted("last_without_cas")
}

/// `reuse_unread`: the owner reuses slots up to the tail without looking whether their thieves have read them.
#[inline(always)]
pub(crate) fn reuse_unread() -> bool {
    is_planted("reuse_unread")
}

/// `stale_buffer`: the thief uses the buffer that it knew before its claim (RUSTSEC-2021-0093).
#[inline(always)]
pub(crate) fn stale_buffer() -> bool {
    is_planted("stale_buffer")
}

/// `newest_buffer`: the thief uses the newest buffer although its index was claimed in an older one.
#[inline(always)]
pub(crate) fn newest_buffer() -> bool {
    is_planted("newest_buffer")
}

/// `grow_unheld`: growth lets a force begin while it copies.
#[inline(always)]
pub(crate) fn grow_unheld() -> bool {
    is_planted("grow_unheld")
}

/// The barrier in the owner's pop, absent under `no_barrier` (E4).
///
/// Without an asymmetric barrier it orders nothing: hence `fenced`.
#[inline(always)]
pub(crate) fn pop_barrier(fenced: impl FnOnce() -> bool) {
    if !is_planted("no_barrier") {
        barrier::light_unless(fenced);
    }
}

/// The fence in the owner's slow pop, absent under `no_fence` (E4, fenced mode).
#[inline(always)]
pub(crate) fn pop_fence() {
    if !is_planted("no_fence") {
        fence(Ordering::SeqCst);
    }
}
