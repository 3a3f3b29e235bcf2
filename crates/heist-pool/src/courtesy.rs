//! Threads in long turns give way to those that run short ones.
//!
//! The kernel shares a core between threads that all want it in slices of some milliseconds. A thread that has a task to run, and
//! needs the core for microseconds, may have to wait for that long if another one computes there. So as long as the monitor sees
//! a thread that computes in one turn, that one is given the longest slice, which makes it the last to be chosen, and the others
//! the shortest; and the core has a pulse, so that the kernel chooses at once. Nobody gets more time than before, or less.
//!
//! A turn that merely lasts, because its thread sleeps or waits for a core itself, is none of these: what counts is its CPU time.

use crate::kernel::{self, Slice};
use crate::pulse::Pulses;
use crate::worker::Worker;
use heist_policy::tuning;

/// One pool's.
#[derive(Default)]
pub struct Courtesy {
    /// By thread number.
    threads: Vec<Seen>,
    /// Looks until everybody is an ordinary thread again.
    looks_left: u32,
}

/// What is known about one thread.
#[derive(Default, Clone, Copy)]
struct Seen {
    tid: u32,
    /// How often in a row it was in the same turn.
    looks: u32,
    /// The CPU time that it had used when it was first asked about in this turn.
    cpu_ns: u64,
    computes: bool,
    slice: Slice,
}

impl Seen {
    /// It is in the same turn as at the last look. Asks for its CPU time twice in the beginning, and then seldom: that costs some
    /// microseconds.
    fn lasts(&mut self, cpu_ns: impl FnOnce() -> u64) {
        self.looks = self.looks.saturating_add(1);
        if self.looks == tuning::LONG_TURN_LOOKS {
            self.cpu_ns = cpu_ns();
        } else if self.looks >= 2 * tuning::LONG_TURN_LOOKS
            && self.looks.is_multiple_of(tuning::LONG_TURN_LOOKS)
            && !self.computes
        {
            let wall_ns = u64::from(self.looks - tuning::LONG_TURN_LOOKS) * tuning::LOOK_AT_TASKS_EVERY_NS;
            self.computes = cpu_ns().saturating_sub(self.cpu_ns) >= wall_ns / 4;
        }
    }

    fn ends(&mut self) {
        (self.looks, self.computes) = (0, false);
    }
}

impl Courtesy {
    /// A look at the thread number `id`. `lasts` if it is in the same turn as at the last one.
    pub fn look(&mut self, id: usize, worker: &Worker, lasts: bool) {
        if id >= self.threads.len() {
            self.threads.resize(id + 1, Seen::default());
        }
        let seen = &mut self.threads[id];
        let tid = worker.own_tid();
        if seen.tid != tid {
            *seen = Seen { tid, ..Seen::default() };
        }
        if lasts && tid != 0 {
            seen.lasts(|| kernel::cpu_ns(tid));
        } else {
            seen.ends();
        }
    }

    /// After the look at all threads.
    pub fn apply(&mut self, pulses: &mut Pulses) {
        for seen in self.threads.iter().filter(|seen| seen.computes) {
            self.looks_left = tuning::COURTESY_LOOKS_KEPT;
            pulses.note(seen.tid);
        }
        if self.looks_left > 0 {
            self.looks_left -= 1;
            self.set(|seen| if seen.computes { Slice::Long } else { Slice::Short });
        } else {
            self.end();
        }
    }

    /// Everybody is an ordinary thread again.
    pub fn end(&mut self) {
        self.looks_left = 0;
        self.set(|_| Slice::Ordinary);
    }

    fn set(&mut self, wanted: impl Fn(&Seen) -> Slice) {
        for seen in self.threads.iter_mut().filter(|seen| seen.tid != 0) {
            let wanted = wanted(seen);
            if seen.slice != wanted {
                seen.slice = wanted;
                kernel::set_slice(seen.tid, wanted);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u32 = tuning::LONG_TURN_LOOKS;
    const LOOK_NS: u64 = tuning::LOOK_AT_TASKS_EVERY_NS;

    fn after(looks: u32, cpu_ns: impl Fn(u32) -> u64) -> Seen {
        let mut seen = Seen::default();
        for look in 1..=looks {
            seen.lasts(|| cpu_ns(look));
        }
        seen
    }

    #[test]
    fn a_turn_is_long_once_it_has_used_its_core_for_a_while() {
        let busy = |look| u64::from(look) * LOOK_NS;
        assert!(!after(2 * N - 1, busy).computes);
        assert!(after(2 * N, busy).computes);
        assert!(after(1000, busy).computes);
        let mut ended = after(2 * N, busy);
        ended.ends();
        assert!(!ended.computes);
    }

    #[test]
    fn a_turn_that_sleeps_or_waits_for_a_core_is_not_long() {
        assert!(!after(1000, |_| 7).computes);
        assert!(!after(1000, |look| u64::from(look) * LOOK_NS / 10).computes);
        // But may become so.
        assert!(after(100 * N, |look| u64::from(look.saturating_sub(40 * N)) * LOOK_NS).computes);
    }
}
