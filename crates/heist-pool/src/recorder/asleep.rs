//! For how long a thread was asleep in the kernel while it ran the program's code: in a lock, a read, a `sleep`. A trace would show it as working.
//!
//! The kernel knows how much CPU time a thread has used and how often it gave the CPU up by itself. It is asked at most once in [`EVERY_NS`],
//! and only while somebody records.

use heist_os::Usage;
use std::cell::Cell;

/// What lasts less is not asked about, and what is asked about may be wrong by as much.
const EVERY_NS: u64 = 1_000_000;

/// What the kernel has said, and when.
#[derive(Clone, Copy, Default, Debug)]
struct Said {
    at_ns: u64,
    usage: Usage,
}

/// What a thread knows of its own sleep. See the module.
#[derive(Default, Debug)]
pub(crate) struct Asleep {
    said: Cell<Option<Said>>,
    /// Since when it is inside of a wait of heist's own, or 0; and how long it was inside of others, in all. Those are drawn as what they are.
    blocked_since_ns: Cell<u64>,
    blocked_ns: Cell<u64>,
}

/// When a job, poll or tick began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    at_ns: u64,
    blocked_ns: u64,
    /// What the kernel has said shortly before. What runs on top of this one asks anew.
    said: Option<Said>,
}

impl Asleep {
    /// The thread begins something.
    pub fn begin(&self, at_ns: u64, ask: impl FnOnce() -> Option<Usage>) -> Begun {
        if self.said.get().is_none_or(|said| at_ns.saturating_sub(said.at_ns) >= EVERY_NS) {
            self.said.set(ask().map(|usage| Said { at_ns, usage }));
        }
        Begun { at_ns, blocked_ns: self.blocked_ns.get(), said: self.said.get() }
    }

    /// The thread goes to sleep in a wait of heist's own.
    pub fn block(&self, at_ns: u64) {
        self.blocked_since_ns.set(at_ns);
    }

    /// It goes on.
    pub fn unblock(&self, at_ns: u64) {
        let since_ns = self.blocked_since_ns.replace(0);
        if since_ns != 0 {
            self.blocked_ns.set(self.blocked_ns.get() + at_ns.saturating_sub(since_ns));
        }
    }

    /// What has begun then is over: for how many nanoseconds the thread was asleep in it, at least. 0 if it was not, or if nobody knows.
    pub fn end(&self, begun: Begun, at_ns: u64, ask: impl FnOnce() -> Option<Usage>) -> u64 {
        let took_ns = at_ns.saturating_sub(begun.at_ns);
        if took_ns < EVERY_NS {
            return 0;
        }
        let (Some(before), Some(now)) = (begun.said, ask()) else { return 0 };
        self.said.set(Some(Said { at_ns, usage: now }));
        if now.sleeps == before.usage.sleeps {
            return 0;
        }
        let used_ns = now.cpu_ns.saturating_sub(before.usage.cpu_ns);
        let blocked_ns = self.blocked_ns.get() - begun.blocked_ns;
        let delayed_ns = now.delayed_ns.saturating_sub(before.usage.delayed_ns);
        let asleep_ns = took_ns.saturating_sub(used_ns).saturating_sub(delayed_ns).saturating_sub(blocked_ns);
        // Less may be what has changed between two questions.
        if asleep_ns < EVERY_NS || asleep_ns < took_ns / 10 { 0 } else { asleep_ns }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn used(cpu_ms: u64, sleeps: u64) -> impl Fn() -> Option<Usage> {
        move || Some(Usage { cpu_ns: cpu_ms * MS, sleeps, delayed_ns: 0 })
    }

    #[test]
    fn time_without_cpu_is_sleep_if_the_thread_gave_it_up() {
        let asleep = Asleep::default();
        let begun = asleep.begin(10 * MS, used(5, 1));
        assert_eq!(asleep.end(begun, 30 * MS, used(7, 3)), 18 * MS);
        // Another one, at once: nobody has to be asked, and what was used before does not count.
        let begun = asleep.begin(30 * MS, || panic!("asked again"));
        assert_eq!(asleep.end(begun, 50 * MS, used(27, 9)), 0, "it computed");
        let begun = asleep.begin(50 * MS, || panic!("asked again"));
        assert_eq!(asleep.end(begun, 70 * MS, used(28, 9)), 0, "others had its CPU");
    }

    #[test]
    fn a_wait_for_a_cpu_is_no_sleep() {
        let asleep = Asleep::default();
        let begun = asleep.begin(0, used(0, 0));
        let delayed = || Some(Usage { cpu_ns: 5 * MS, sleeps: 1, delayed_ns: 12 * MS });
        assert_eq!(asleep.end(begun, 20 * MS, delayed), 3 * MS);
    }

    #[test]
    fn waits_of_heists_own_are_not_counted_again() {
        let asleep = Asleep::default();
        let begun = asleep.begin(0, used(0, 0));
        asleep.block(2 * MS);
        asleep.unblock(12 * MS);
        assert_eq!(asleep.end(begun, 20 * MS, used(2, 4)), 8 * MS);
    }

    #[test]
    fn what_runs_on_top_of_another_changes_nothing_for_it() {
        let asleep = Asleep::default();
        // It computes for 10 ms, then something on top of it sleeps for 2.
        let outer = asleep.begin(0, used(0, 0));
        let inner = asleep.begin(10 * MS, used(10, 0));
        assert_eq!(asleep.end(inner, 12 * MS, used(10, 1)), 2 * MS);
        assert_eq!(asleep.end(outer, 12 * MS, used(10, 1)), 2 * MS);
        // It sleeps for 10 ms itself, and what is on top of it computes.
        let outer = asleep.begin(20 * MS, used(10, 1));
        let inner = asleep.begin(30 * MS, used(10, 2));
        assert_eq!(asleep.end(inner, 32 * MS, used(12, 2)), 0);
        assert_eq!(asleep.end(outer, 32 * MS, used(12, 2)), 10 * MS);
    }

    #[test]
    fn what_is_short_or_unknown_is_nothing() {
        let asleep = Asleep::default();
        let begun = asleep.begin(0, || None);
        assert_eq!(asleep.end(begun, 10 * MS, || None), 0);
        let begun = asleep.begin(20 * MS, used(0, 0));
        assert_eq!(asleep.end(begun, 20 * MS + 999_999, || panic!("not worth a question")), 0);
    }
}
