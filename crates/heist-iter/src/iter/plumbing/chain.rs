//! Loops that follow each other at once.
//!
//! A loop of 30 us is not worth a wake-up, but a hundred of them in a row are: whoever has been woken once finds the next one while it
//! still searches. So what a thread has run alone in loops that followed each other counts when the next one asks whether to wake somebody.

use heist_sync::clock::Moment;
use std::cell::Cell;

/// Who has found nothing sleeps again after about this time. What comes later than that after a loop does not follow it.
const PAUSE_NS: u64 = 20_000;

/// Shorter loops are not shared even with somebody who is awake.
const LEAST_NS: u64 = 20_000;

#[derive(Debug, Clone, Copy)]
struct Chain {
    /// When its last loop ended.
    ended: Moment,
    /// What its loops took.
    alone_ns: u64,
}

thread_local! {
    /// The loops that the thread has run alone lately, as far as they would have been shared if somebody had been awake.
    static CHAIN: Cell<Option<Chain>> = const { Cell::new(None) };
}

/// How long the loops took that came just before one that has been running for `spent_ns`.
pub(super) fn before(spent_ns: u64) -> u64 {
    match CHAIN.get() {
        Some(chain) if Moment::now().ns_since(chain.ended) <= spent_ns.saturating_add(PAUSE_NS) => {
            chain.alone_ns
        }
        _ => 0,
    }
}

/// A loop has ended that this thread has run alone since `begun`.
pub(super) fn add(begun: Moment) {
    let ended = Moment::now();
    let spent_ns = ended.ns_since(begun);
    if spent_ns >= LEAST_NS {
        CHAIN.set(Some(Chain { ended, alone_ns: before(spent_ns).saturating_add(spent_ns) }));
    }
}

/// Somebody is woken.
pub(super) fn end() {
    CHAIN.set(None);
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn only_what_follows_at_once_counts() {
        assert_eq!(before(0), 0);
        // Something else may take the CPU away in between, but not every time.
        let follows = (0..1_000).any(|_| {
            end();
            let begun = Moment::now();
            while Moment::now().ns_since(begun) < LEAST_NS {}
            add(begun);
            add(begun);
            add(Moment::now());
            (2 * LEAST_NS..4 * LEAST_NS).contains(&before(0))
        });
        assert!(follows);
        let begun = Moment::now();
        while Moment::now().ns_since(begun) < 2 * PAUSE_NS {}
        assert_eq!(before(0), 0);
        assert!(before(u64::MAX) > 0, "the loop that asks began at once");
        end();
        assert_eq!(before(u64::MAX), 0);
    }
}
