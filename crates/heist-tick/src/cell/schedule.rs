//! When a tick runs next, and what became of all its runs: a plain value, without a clock and without a lock.

use crate::context::Next;
use heist_policy::tick::{self as policy, Overrun};

/// What became of a tick's runs.
///
/// While the tick is not over, exactly one run is pending. See [`Handle::stats`](crate::Handle::stats) for an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ledger {
    /// Runs that were given a time.
    pub scheduled: u64,
    /// Runs that have begun.
    pub run: u64,
    /// Runs that were missed and dropped, by [`Overrun`].
    pub skipped: u64,
    /// Runs that the tick's end has cancelled.
    pub cancelled: u64,
    /// Runs that are still to come: one, or none if the tick is over.
    pub pending: u64,
}

impl Ledger {
    /// Whether every run that was scheduled was run, skipped or cancelled, or is pending.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let tick = heist::tick::every(Duration::from_millis(1)).spawn(|_| heist::tick::Next::Stop);
    /// tick.wait().unwrap();
    /// assert!(tick.stats().ledger.is_balanced());
    /// ```
    pub fn is_balanced(&self) -> bool {
        self.scheduled == self.run + self.skipped + self.cancelled + self.pending
    }

    /// For a sum of ledgers: one of them has changed.
    pub(crate) fn follow(&mut self, before: Self, after: Self) {
        // Runs that are pending go down again.
        let follow =
            |sum: &mut u64, before: u64, after: u64| *sum = sum.wrapping_add(after).wrapping_sub(before);
        follow(&mut self.scheduled, before.scheduled, after.scheduled);
        follow(&mut self.run, before.run, after.run);
        follow(&mut self.skipped, before.skipped, after.skipped);
        follow(&mut self.cancelled, before.cancelled, after.cancelled);
        follow(&mut self.pending, before.pending, after.pending);
    }
}

/// A run that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub scheduled_ns: u64,
    /// How many periods it stands for.
    pub count: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    period_ns: u64,
    overrun: Overrun,
    /// From when on the period counts: when the run before the next one was scheduled. `None` before a first one with a time of its own.
    last_ns: Option<u64>,
    next_ns: u64,
    /// Missed periods in a row that were caught up with.
    burst: u32,
    is_paused: bool,
    /// Runs that are let through while it is paused.
    steps: u64,
    /// Runs that are due at once.
    sprints: u64,
    /// There are no more runs.
    is_ending: bool,
    ledger: Ledger,
}

impl Schedule {
    pub fn new(period_ns: u64, overrun: Overrun, first_ns: u64) -> Self {
        let ledger = Ledger { scheduled: 1, pending: 1, ..Ledger::default() };
        Self {
            period_ns,
            overrun,
            last_ns: None,
            next_ns: first_ns,
            burst: 0,
            is_paused: false,
            steps: 0,
            sprints: 0,
            is_ending: false,
            ledger,
        }
    }

    /// The first run has no time of its own: a period that counts from `at_ns` on says when it is.
    pub fn counted_from(mut self, at_ns: u64) -> Self {
        self.last_ns = Some(at_ns);
        self
    }

    pub fn period_ns(&self) -> u64 {
        self.period_ns
    }

    pub fn ledger(&self) -> Ledger {
        self.ledger
    }

    /// When the next run is due. `None` while it is paused, and when it ends.
    pub fn due_ns(&self) -> Option<u64> {
        let is_held = self.is_paused && self.steps == 0 && self.sprints == 0;
        (!self.is_ending && !is_held).then_some(self.next_ns)
    }

    /// Whether there are no more runs.
    pub fn is_ending(&self) -> bool {
        self.is_ending
    }

    /// The pending run begins; the next one is scheduled.
    pub fn begin(&mut self, now_ns: u64) -> Run {
        debug_assert!(self.due_ns().is_some_and(|due_ns| due_ns <= now_ns));
        let scheduled_ns = self.next_ns;
        // A sprint's runs are meant to be late; `end` says when the next one is due.
        let is_sprint = self.sprints > 0;
        let overrun = if is_sprint { Overrun::Delay } else { self.overrun };
        match self.sprints {
            0 => self.steps = self.steps.saturating_sub(1),
            _ => self.sprints -= 1,
        }
        // Only whether it has overrun depends on its end.
        let next = policy::after_run(overrun, scheduled_ns, self.period_ns, now_ns, now_ns, self.burst);
        self.burst = if is_sprint { 0 } else { next.burst };
        self.last_ns = Some(next.due_ns.saturating_sub(self.period_ns));
        self.next_ns = next.due_ns;
        self.ledger.run += 1;
        self.ledger.skipped += next.skipped;
        self.ledger.scheduled += next.skipped + 1;
        Run { scheduled_ns, count: next.skipped + 1 }
    }

    /// The run has ended.
    pub fn end(&mut self, next: Step, now_ns: u64) {
        match next {
            Step::Stop => self.stop(),
            Step::At(_) | Step::Continue if self.sprints > 0 => self.next_ns = now_ns,
            Step::At(at_ns) => self.next_ns = at_ns,
            Step::Continue => {}
        }
    }

    /// No more runs. The pending one is cancelled.
    pub fn stop(&mut self) {
        self.is_ending = true;
        self.ledger.cancelled += self.ledger.pending;
        self.ledger.pending = 0;
    }

    /// Runs again after it was stopped.
    pub fn restart(&mut self, first_ns: u64, now_ns: u64) {
        debug_assert!(self.is_ending);
        let ledger = self.ledger;
        *self = Self::new(self.period_ns, self.overrun, first_ns).counted_from(now_ns);
        self.ledger = Ledger { scheduled: ledger.scheduled + 1, pending: 1, ..ledger };
    }

    /// Another period, which counts from the last run on. A first run with a time of its own keeps that.
    pub fn set_period(&mut self, period_ns: u64, now_ns: u64) {
        self.period_ns = period_ns;
        if self.sprints == 0
            && let Some(last_ns) = self.last_ns
        {
            self.next_ns = last_ns.saturating_add(period_ns).max(now_ns);
        }
    }

    /// Holds back what was due, the rest of a sprint too.
    pub fn pause(&mut self) {
        self.is_paused = true;
        self.steps = 0;
        self.sprints = 0;
    }

    /// Goes on at the next multiple of the period. What would have run meanwhile was not scheduled.
    pub fn resume(&mut self, now_ns: u64) {
        if !std::mem::take(&mut self.is_paused) {
            return;
        }
        self.steps = 0;
        if self.sprints == 0 {
            self.pass_over(now_ns);
        }
    }

    /// The next run is not before `now_ns`, and in step with those before.
    fn pass_over(&mut self, now_ns: u64) {
        let missed = now_ns.saturating_sub(self.next_ns).div_ceil(self.period_ns);
        self.next_ns = self.next_ns.saturating_add(missed.saturating_mul(self.period_ns));
    }

    /// Nothing could run until `now_ns`, because the pool had no thread to run it: as after a pause.
    pub fn go_on(&mut self, now_ns: u64) {
        if self.is_paused || self.sprints > 0 {
            // What is let through at once is so from here on. A run that is held back stays where it is.
            if self.steps > 0 || self.sprints > 0 {
                self.next_ns = self.next_ns.max(now_ns);
            }
        } else {
            self.pass_over(now_ns);
        }
    }

    /// Lets `n` runs through while it is paused, the first at once. False if it is not paused.
    pub fn step(&mut self, n: u64, now_ns: u64) -> bool {
        if self.is_paused && self.steps == 0 {
            self.next_ns = now_ns;
        }
        if self.is_paused {
            self.steps = self.steps.saturating_add(n);
        }
        self.is_paused
    }

    /// Makes the next `n` runs due one right after the other.
    pub fn sprint(&mut self, n: u64, now_ns: u64) {
        if n == 0 {
            return;
        }
        // A run that was held back is not late: it is due from here on.
        self.next_ns = self.due_ns().map_or(now_ns, |due_ns| due_ns.min(now_ns));
        self.sprints = self.sprints.saturating_add(n);
    }
}

/// What a run wants to come next, in the pool's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Continue,
    At(u64),
    Stop,
}

impl Step {
    pub fn new(next: Next, ns_of: impl FnOnce(heist_sync::clock::Instant) -> u64) -> Self {
        match next {
            Next::Continue => Self::Continue,
            Next::At(at) => Self::At(ns_of(at)),
            Next::Stop => Self::Stop,
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    fn run(schedule: &mut Schedule, now_ns: u64) -> Run {
        let run = schedule.begin(now_ns);
        schedule.end(Step::Continue, now_ns);
        assert!(schedule.ledger().is_balanced(), "{schedule:?}");
        run
    }

    #[test]
    fn a_late_run_stands_for_those_that_it_has_missed() {
        let mut schedule = Schedule::new(10, Overrun::Skip, 100);
        assert_eq!(run(&mut schedule, 100), Run { scheduled_ns: 100, count: 1 });
        assert_eq!(run(&mut schedule, 135), Run { scheduled_ns: 110, count: 3 });
        assert_eq!(schedule.due_ns(), Some(140));
        assert_eq!(schedule.ledger(), Ledger { scheduled: 5, run: 2, skipped: 2, cancelled: 0, pending: 1 });
        schedule.stop();
        assert!(schedule.ledger().is_balanced() && schedule.ledger().cancelled == 1);
        schedule.restart(200, 195);
        assert!(schedule.ledger().is_balanced() && schedule.ledger().scheduled == 6);
        assert_eq!(schedule.due_ns(), Some(200));
    }

    #[test]
    fn nothing_but_a_pause_holds_a_sprint_back() {
        let mut schedule = Schedule::new(1000, Overrun::Skip, 5000);
        schedule.pause();
        schedule.sprint(3, 10);
        schedule.resume(20);
        assert_eq!(schedule.due_ns(), Some(10));
        schedule.set_period(500, 30);
        assert_eq!(schedule.due_ns(), Some(10));
        run(&mut schedule, 40);
        assert_eq!(schedule.due_ns(), Some(40));
        schedule.pause();
        assert_eq!(schedule.due_ns(), None);
    }

    #[test]
    fn a_paused_tick_runs_only_steps_and_sprints() {
        let mut schedule = Schedule::new(10, Overrun::Skip, 100);
        schedule.pause();
        assert_eq!(schedule.due_ns(), None);
        assert!(schedule.step(2, 105));
        assert_eq!(run(&mut schedule, 105).count, 1);
        assert_eq!(schedule.due_ns(), Some(115), "steps keep the period");
        run(&mut schedule, 115);
        assert_eq!(schedule.due_ns(), None);
        schedule.sprint(2, 130);
        assert_eq!(run(&mut schedule, 131).scheduled_ns, 130, "it is not late, for it was not due");
        assert_eq!(schedule.due_ns(), Some(131), "a sprint does not");
        run(&mut schedule, 131);
        assert_eq!(schedule.due_ns(), None);
        schedule.resume(1000);
        let due_ns = schedule.due_ns().unwrap();
        assert!((1000..1010).contains(&due_ns) && (due_ns - 141).is_multiple_of(10), "{due_ns}");
        assert_eq!(schedule.ledger().skipped, 0, "nothing was scheduled meanwhile");
        assert!(!schedule.step(1, 1000), "it is not paused");
    }

    #[test]
    fn what_was_due_while_nothing_could_run_was_not_scheduled() {
        for overrun in [Overrun::Skip, Overrun::Burst(9), Overrun::Delay] {
            let mut schedule = Schedule::new(10, overrun, 100);
            run(&mut schedule, 100);
            schedule.go_on(105);
            assert_eq!(schedule.due_ns(), Some(110), "it was not due");
            schedule.go_on(133);
            assert_eq!(schedule.due_ns(), Some(140));
            assert_eq!(run(&mut schedule, 141), Run { scheduled_ns: 140, count: 1 });
            schedule.pause();
            schedule.go_on(200);
            assert_eq!(schedule.due_ns(), None);
            schedule.step(1, 205);
            schedule.go_on(300);
            assert_eq!(run(&mut schedule, 301), Run { scheduled_ns: 300, count: 1 });
            schedule.sprint(1, 305);
            schedule.go_on(400);
            assert_eq!(run(&mut schedule, 401), Run { scheduled_ns: 400, count: 1 });
            schedule.go_on(500);
            assert_eq!((schedule.due_ns(), schedule.ledger().skipped), (None, 0), "{overrun:?}");
        }
    }

    #[test]
    fn a_new_period_counts_from_the_last_run() {
        let mut schedule = Schedule::new(100, Overrun::Skip, 100);
        run(&mut schedule, 100);
        schedule.set_period(10, 150);
        assert_eq!(schedule.due_ns(), Some(150), "overdue, so now");
        schedule.set_period(1000, 150);
        assert_eq!(schedule.due_ns(), Some(1100));
    }

    #[test]
    fn no_period_brings_a_first_run_forward_that_was_given_a_time() {
        let mut schedule = Schedule::new(1000, Overrun::Skip, 5000);
        schedule.set_period(10, 100);
        assert_eq!(schedule.due_ns(), Some(5000));
        let mut spread = Schedule::new(1000, Overrun::Skip, 700).counted_from(50);
        spread.set_period(100, 60);
        assert_eq!(spread.due_ns(), Some(150));
        run(&mut schedule, 5000);
        assert_eq!(schedule.due_ns(), Some(5010));
    }

    #[test]
    fn a_sprint_does_not_wait_for_what_a_run_has_said() {
        let mut schedule = Schedule::new(10, Overrun::Skip, 100);
        schedule.sprint(2, 100);
        schedule.begin(100);
        schedule.end(Step::At(500), 101);
        assert_eq!(schedule.due_ns(), Some(101));
        schedule.begin(101);
        schedule.end(Step::At(500), 102);
        assert_eq!(schedule.due_ns(), Some(500), "it was the last");
    }

    #[test]
    fn a_run_may_say_when_the_next_one_is() {
        let mut schedule = Schedule::new(10, Overrun::Skip, 100);
        schedule.begin(100);
        schedule.end(Step::At(500), 101);
        assert_eq!(schedule.due_ns(), Some(500));
        schedule.begin(500);
        schedule.end(Step::Stop, 501);
        assert_eq!((schedule.due_ns(), schedule.is_ending()), (None, true));
        assert!(schedule.ledger().is_balanced());
    }
}
