//! A number of tickets that all parts of a loop draw from.

use heist_sync::atomic::{AtomicUsize, Ordering};

/// The tickets that are left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tickets<'a>(&'a AtomicUsize);

/// Hands out as many tickets as `left` says.
pub(super) fn new(left: &AtomicUsize) -> Tickets<'_> {
    Tickets(left)
}

impl Tickets<'_> {
    /// Takes a ticket if one is left.
    #[inline]
    pub(super) fn take_one(self) -> bool {
        // ORDERING: Relaxed, here and below: only the count matters, and one word is always consistent with itself.
        // The load first keeps the line shared once all tickets are gone.
        self.0.load(Ordering::Relaxed) > 0
            && self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Whether all tickets are gone.
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        // ORDERING: Relaxed: see `take_one`.
        self.0.load(Ordering::Relaxed) == 0
    }
}
