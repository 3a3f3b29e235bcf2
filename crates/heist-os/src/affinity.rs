//! Which CPU a woken thread runs on.
//!
//! The kernel likes to put a woken thread on its waker's own CPU, also if it slept on another that is idle. There it waits for the waker's
//! time slice: a join of two 1 ms halves takes 2 ms that way. So the waker takes its own CPU out of the sleeper's mask before it wakes it
//! for a job, and the woken thread puts the mask back as the first thing it does. (To do so only for a thread that slept on the waker's CPU
//! made a cold join of two 1 us halves a quarter cheaper, and one of two 1 ms halves half as long again.)
//!
//! Tasks are woken where the kernel likes: most of their wakers are about to sleep themselves, and a CPU that has to be fetched
//! from its own sleep costs the waker more than a task usually takes.
//!
//! A mask that somebody else sets on a sleeping thread stands: a thread sleeps with its own.

use super::{CpuMask, System, ThreadNumber};
use heist_sync::{Mutex, lock};

/// What a thread is woken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WokenFor {
    /// A job: its waker goes on computing, so it should run on another CPU.
    Job,
    /// A job that its waker waits for, and sleeps until it is over: wherever it is cheapest.
    Call,
    /// A task: wherever it is cheapest.
    Task,
}

/// One thread's mask while it is being woken.
#[derive(Debug)]
pub struct AffinityHint {
    system: &'static dyn System,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Awake,
    /// Between its falling asleep and its first step. With the mask that it slept with, if a waker has changed it.
    Asleep(Option<CpuMask>),
}

impl AffinityHint {
    /// For one thread.
    pub fn new(system: &'static dyn System) -> Self {
        Self { system, state: Mutex::new(State::Awake) }
    }

    /// Called by the thread before it sleeps. Wakers that come before, or after it is awake again, leave its mask alone.
    pub fn before_sleep(&self) {
        let mut state = lock(&self.state);
        if let State::Awake = *state {
            *state = State::Asleep(None);
        }
    }

    /// Called by a waker before it wakes `thread` for a job.
    pub fn before_wake(&self, thread: ThreadNumber) {
        let Some(here) = self.system.cpu() else { return };
        if let State::Asleep(own @ None) = &mut *lock(&self.state) {
            *own = take_out(self.system, Some(thread), here);
        }
    }

    /// Called by the thread: from here on it runs on the CPUs in `mask`. If a waker has changed its mask, from its first step on.
    pub fn place(&self, mask: &CpuMask) {
        let mut state = lock(&self.state);
        if let State::Asleep(Some(own)) = &mut *state {
            *own = *mask;
        } else {
            self.system.set_mask(None, mask);
        }
    }

    /// Called by the thread when it is awake, before it runs anything of the user's. Between the waker and here are microseconds: it
    /// does not ask whether somebody else has set a mask in them.
    pub fn after_wake(&self) {
        let state = std::mem::replace(&mut *lock(&self.state), State::Awake);
        if let State::Asleep(Some(own)) = state {
            self.system.set_mask(None, &own);
        }
    }
}

/// The calling thread goes to another CPU than `cpu`, of those that it may run on, and may come back later.
pub fn leave_cpu(system: &dyn System, cpu: usize) {
    if let Some(mask) = take_out(system, None, cpu) {
        system.set_mask(None, &mask);
    }
}

/// Takes `cpu` out of a thread's mask, if another is left there. Returns the mask as it was.
fn take_out(system: &dyn System, thread: Option<ThreadNumber>, cpu: usize) -> Option<CpuMask> {
    let mask = system.mask(thread).filter(|mask| mask.count() >= 2 && mask.has(cpu))?;
    system.set_mask(thread, &mask.without(cpu)).then_some(mask)
}

#[cfg(all(test, target_os = "linux", not(any(heist_model, miri))))]
mod tests {
    use super::*;
    use crate::system;

    #[test]
    fn a_thread_that_leaves_a_cpu_may_still_come_back() {
        let system = system(Some(true));
        let mask = system.mask(None).expect("Linux knows");
        // The kernel may move it back in between, but not every time.
        let moved = (0..1000).any(|_| {
            let cpu = system.cpu().expect("Linux knows");
            leave_cpu(system, cpu);
            assert_eq!(system.mask(None), Some(mask));
            system.cpu() != Some(cpu)
        });
        assert_eq!(moved, mask.count() > 1);
    }

    #[test]
    fn the_mask_comes_back_after_a_wake_and_one_that_was_set_before_it_stays() {
        let system = system(Some(true));
        let own = system.mask(None).expect("Linux knows");
        let me = system.thread_number().expect("Linux knows");
        if own.count() < 2 {
            println!("one CPU: nothing to choose");
            return;
        }
        let hint = AffinityHint::new(system);
        // A waker that comes too early changes nothing.
        hint.before_wake(me);
        assert_eq!(system.mask(None), Some(own));
        hint.before_sleep();
        hint.before_wake(me);
        let reduced = system.mask(None).expect("Linux knows");
        assert_eq!(reduced.count(), own.count() - 1);
        // A second waker changes nothing.
        hint.before_wake(me);
        assert_eq!(system.mask(None), Some(reduced));
        hint.after_wake();
        assert_eq!(system.mask(None), Some(own));
        // Nor does one that comes too late.
        hint.before_wake(me);
        assert_eq!(system.mask(None), Some(own));

        // It goes elsewhere itself: before it sleeps, with a waker on the way, and after one.
        for waker_first in [false, true] {
            let chosen = CpuMask::default().with(own.cpus().next().expect("it has two"));
            hint.before_sleep();
            if waker_first {
                hint.before_wake(me);
            }
            hint.place(&chosen);
            hint.before_wake(me);
            hint.after_wake();
            assert_eq!(system.mask(None), Some(chosen), "waker first: {waker_first}");
            hint.place(&own);
            assert_eq!(system.mask(None), Some(own));
        }

        // Pinned while it sleeps.
        let taken_out = (0..1024).find(|&cpu| own.has(cpu) && !reduced.has(cpu)).expect("one was taken out");
        for cpu in [taken_out, (0..1024).find(|&cpu| reduced.has(cpu)).expect("one is left")] {
            let chosen = CpuMask::default().with(cpu);
            assert!(system.set_mask(None, &chosen));
            hint.before_sleep();
            hint.before_wake(me);
            hint.after_wake();
            assert_eq!(system.mask(None), Some(chosen));
        }
        assert!(system.set_mask(None, &own));
    }
}
