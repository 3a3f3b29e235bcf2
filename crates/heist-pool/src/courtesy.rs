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
use std::time::{Duration, Instant};

const COURTESY_KEPT: Duration = Duration::from_nanos(tuning::COURTESY_KEPT_NS);

/// One pool's.
#[derive(Default)]
pub struct Courtesy {
    /// By thread number.
    threads: Vec<Seen>,
    /// When everybody is an ordinary thread again.
    until: Option<Instant>,
}

/// What is known about one thread.
#[derive(Default, Clone, Copy)]
struct Seen {
    tid: u32,
    /// When it was first seen in this turn, or last asked for its CPU time.
    since: Option<Instant>,
    /// What it said then.
    cpu_ns: Option<u64>,
    computes: bool,
    slice: Slice,
}

impl Seen {
    /// It is in the same turn as at the last look. Seldom asks for its CPU time: that costs some microseconds.
    fn lasts(&mut self, now: Instant, cpu_ns: impl FnOnce() -> u64) {
        let wall_ns = now.saturating_duration_since(*self.since.get_or_insert(now)).as_nanos() as u64;
        if self.computes || wall_ns < tuning::LONG_TURN_NS {
            return;
        }
        let cpu_ns = cpu_ns();
        self.computes = self.cpu_ns.is_some_and(|before| cpu_ns.saturating_sub(before) >= wall_ns / 4);
        (self.since, self.cpu_ns) = (Some(now), Some(cpu_ns));
    }

    fn ends(&mut self) {
        *self = Self { tid: self.tid, slice: self.slice, ..Self::default() };
    }
}

impl Courtesy {
    /// A look at the thread number `id`. `lasts` if it is in the same turn as at the last one.
    pub fn look(&mut self, now: Instant, id: usize, worker: &Worker, lasts: bool) {
        if id >= self.threads.len() {
            self.threads.resize(id + 1, Seen::default());
        }
        let seen = &mut self.threads[id];
        let tid = worker.own_tid();
        if seen.tid != tid {
            *seen = Seen { tid, ..Seen::default() };
        }
        if lasts && tid != 0 {
            seen.lasts(now, || kernel::cpu_ns(tid));
        } else {
            seen.ends();
        }
    }

    /// After the look at all threads.
    pub fn apply(&mut self, now: Instant, pulses: &mut Pulses) {
        for seen in self.threads.iter().filter(|seen| seen.computes) {
            self.until = Some(now + COURTESY_KEPT);
            pulses.note(seen.tid);
        }
        match self.until {
            None => {}
            Some(until) if now >= until => self.end(),
            Some(_) => self.set(|seen| if seen.computes { Slice::Long } else { Slice::Short }),
        }
    }

    /// Whether there was a long turn lately.
    pub fn is_asked_for(&self) -> bool {
        self.until.is_some()
    }

    /// Everybody is an ordinary thread again.
    pub fn end(&mut self) {
        if self.until.take().is_some() {
            self.set(|_| Slice::Ordinary);
        }
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

    const LONG_NS: u64 = tuning::LONG_TURN_NS;
    const LOOK_NS: u64 = LONG_NS / 4;

    /// After so many looks, and how often it was asked.
    fn after(looks: u64, cpu_ns: impl Fn(u64) -> u64) -> (Seen, u32) {
        let (start, mut seen, mut asked) = (Instant::now(), Seen::default(), 0);
        for look in 0..looks {
            seen.lasts(start + Duration::from_nanos(look * LOOK_NS), || {
                asked += 1;
                cpu_ns(look * LOOK_NS)
            });
        }
        (seen, asked)
    }

    #[test]
    fn a_turn_is_long_once_it_has_used_its_core_for_a_while() {
        let busy = |ns| ns;
        assert!(!after(8, busy).0.computes);
        assert!(after(9, busy).0.computes);
        let (mut seen, asked) = after(1000, busy);
        assert!(seen.computes);
        assert_eq!(asked, 2);
        seen.ends();
        assert!(!seen.computes);
    }

    #[test]
    fn looks_that_are_far_between_see_it_too() {
        let (start, mut seen) = (Instant::now(), Seen::default());
        for look in 0..3 {
            seen.lasts(start + Duration::from_nanos(10 * look * LONG_NS), || 3 * look * LONG_NS);
        }
        assert!(seen.computes);
    }

    #[test]
    fn a_turn_that_sleeps_or_waits_for_a_core_is_not_long() {
        let (seen, asked) = after(1000, |_| 7);
        assert!(!seen.computes);
        assert!(asked <= 250, "asked {asked} times although it sleeps");
        assert!(!after(1000, |ns| ns / 10).0.computes);
        // But may become so.
        assert!(after(170, |ns| ns.saturating_sub(160 * LOOK_NS)).0.computes);
    }
}
