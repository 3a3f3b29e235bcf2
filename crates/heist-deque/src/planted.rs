//! Deliberately broken variants, each behind `--cfg heist_planted="name"`: `planted.sh` asserts that a model catches every
//! one. In a normal build each constant folds to the correct protocol.

use heist_sync::atomic::{Ordering, fence};
use heist_sync::barrier;

const fn ordering(planted: bool, correct: Ordering) -> Ordering {
    if planted { Ordering::Relaxed } else { correct }
}

/// `relaxed_publish`: the owner's publish no longer carries the slots' contents (E1).
pub(crate) const PUBLISH: Ordering = ordering(cfg!(heist_planted = "relaxed_publish"), Ordering::Release);

/// `relaxed_head`: a forcing thief may publish items whose contents it has not seen (E3).
pub(crate) const HEAD_STORE: Ordering = ordering(cfg!(heist_planted = "relaxed_head"), Ordering::Release);

/// `relaxed_take_back`: a force that begins after the owner took items back may read the head from before (E6).
pub(crate) const TAKE_BACK: Ordering = ordering(cfg!(heist_planted = "relaxed_take_back"), Ordering::Release);

/// `relaxed_expose`: a forcing thief shares items without passing on what it has seen of their contents (E1).
pub(crate) const EXPOSE: Ordering = ordering(cfg!(heist_planted = "relaxed_expose"), Ordering::Release);

/// `relaxed_done`: the owner may overwrite a slot while a thief still reads it (E2).
pub(crate) const DONE_STORE: Ordering = ordering(cfg!(heist_planted = "relaxed_done"), Ordering::Release);

/// `read_before_claim`: the thief reads the slot, then claims it.
pub(crate) const READ_BEFORE_CLAIM: bool = cfg!(heist_planted = "read_before_claim");

/// `restore_keeps_word`: the owner's transitions leave a force in progress alone, so that it succeeds with a stale head (I5).
pub(crate) const KEEP_FORCE: bool = cfg!(heist_planted = "restore_keeps_word");

/// `restore_after_word`: the owner restores its pop bound after it has changed the word instead of before.
pub(crate) const RESTORE_LATE: bool = cfg!(heist_planted = "restore_after_word");

/// `last_without_cas`: the owner takes the last shared item back with a plain store.
pub(crate) const LAST_WITHOUT_CAS: bool = cfg!(heist_planted = "last_without_cas");

/// `reuse_unread`: the owner reuses slots up to the tail without looking whether their thieves have read them.
pub(crate) const REUSE_UNREAD: bool = cfg!(heist_planted = "reuse_unread");

/// `stale_buffer`: the thief uses the buffer that it knew before its claim (RUSTSEC-2021-0093).
pub(crate) const STALE_BUFFER: bool = cfg!(heist_planted = "stale_buffer");

/// `newest_buffer`: the thief uses the newest buffer although its index was claimed in an older one.
pub(crate) const NEWEST_BUFFER: bool = cfg!(heist_planted = "newest_buffer");

/// `grow_unheld`: growth lets a force begin while it copies.
pub(crate) const GROW_UNHELD: bool = cfg!(heist_planted = "grow_unheld");

/// The barrier in the owner's pop, absent under `no_barrier` (E4).
///
/// Without an asymmetric barrier it orders nothing, which loom, where it is a full fence, must be told: hence `fenced`.
#[inline(always)]
pub(crate) fn pop_barrier(fenced: impl FnOnce() -> bool) {
    let in_vain = cfg!(heist_loom) && fenced();
    if !cfg!(heist_planted = "no_barrier") && !in_vain {
        barrier::light();
    }
}

/// The fence in the owner's slow pop, absent under `no_fence` (E4, fenced mode).
#[inline(always)]
pub(crate) fn pop_fence() {
    if !cfg!(heist_planted = "no_fence") {
        fence(Ordering::SeqCst);
    }
}
