//! Where a woken thread runs.
//!
//! The kernel likes to put a woken thread on its waker's own core, where it then waits for the waker's time slice: a join of two
//! 1 ms halves takes 2 ms that way. So a thread sleeps with the core of its last waker taken out of its mask, and puts the mask
//! back when it wakes. A waker on another core corrects that first, which is rare: threads stay where they are. In the usual
//! case the waker pays nothing.
//!
//! Tasks are woken where the kernel likes: most of their wakers are about to sleep themselves, and a core that has to be fetched
//! from its own sleep costs the waker more than a task usually takes.
//!
//! A thread may also find itself on the core of one that computes without having been woken: it searched there, or ran a task, and
//! the other one came. The kernel then lets the two alternate, even if another core is idle. So a thief that runs on the core on
//! which its victim waits goes to another one (`leave`).
//!
//! The mask that a thread goes to sleep with is the one it wakes up with: users may pin threads as they like.

/// What a thread is woken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum For {
    /// A job: its waker goes on computing, so it should run on another core.
    Job,
    /// A task: wherever it is cheapest.
    Task,
}

#[cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod imp {
    use super::For;
    use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use heist_sync::{Mutex, lock};
    use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_getcpu, sched_setaffinity};

    /// The kernel has refused to set a mask (a filter): do not try again.
    static REFUSED: AtomicBool = AtomicBool::new(false);

    /// One thread's bed.
    #[derive(Debug)]
    pub struct Bed {
        /// While it sleeps.
        asleep: Mutex<Option<Asleep>>,
        /// One more than the core that was taken out.
        without: AtomicUsize,
    }

    #[derive(Debug)]
    struct Asleep {
        /// The thread's own mask.
        mask: CpuSet,
        /// It sleeps with a smaller one.
        is_reduced: bool,
    }

    fn set(thread: Option<Pid>, mask: &CpuSet) {
        if sched_setaffinity(thread, mask).is_err() {
            REFUSED.store(true, Ordering::Relaxed);
        }
    }

    /// The calling thread's core, and one more: 0 is none.
    pub fn here() -> u32 {
        // SAFETY: no arguments. A failure is -1.
        (unsafe { libc::sched_getcpu() } + 1) as u32
    }

    /// The calling thread goes to another core than `core`, of those it may run on.
    pub fn leave(core: usize) {
        if REFUSED.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mask) = sched_getaffinity(None) else { return };
        let mut smaller = mask;
        smaller.unset(core);
        if mask.count() >= 2 && smaller != mask {
            set(None, &smaller);
            set(None, &mask);
        }
    }

    impl Bed {
        pub fn new() -> Self {
            Self { asleep: Mutex::new(None), without: AtomicUsize::new(0) }
        }

        /// Its thread, before it sleeps. `last`: what it did before.
        pub fn lie_down(&self, last: For) {
            if REFUSED.load(Ordering::Relaxed) {
                return;
            }
            let Ok(mask) = sched_getaffinity(None) else { return };
            if mask.count() < 2 {
                return;
            }
            // Before anybody has woken it for a job: any core but another's; the waker corrects it.
            let without = self.without.load(Ordering::Relaxed);
            let mut asleep = lock(&self.asleep);
            let is_reduced = last == For::Job && without != 0 && mask.is_set(without - 1);
            if is_reduced {
                let mut smaller = mask;
                smaller.unset(without - 1);
                set(None, &smaller);
            }
            *asleep = Some(Asleep { mask, is_reduced });
        }

        /// Its thread, when it is awake.
        pub fn get_up(&self) {
            if let Some(Asleep { mask, is_reduced: true }) = lock(&self.asleep).take() {
                set(None, &mask);
            }
        }

        /// Its waker, before it wakes thread `tid` for a job.
        pub fn prepare(&self, tid: u32) {
            let here = sched_getcpu();
            let mut asleep = lock(&self.asleep);
            let (Some(asleep), Some(pid)) = (&mut *asleep, Pid::from_raw(tid as i32)) else { return };
            if asleep.is_reduced && self.without.load(Ordering::Relaxed) == here + 1 {
                return;
            }
            let mut smaller = asleep.mask;
            if smaller.is_set(here) {
                smaller.unset(here);
                set(Some(pid), &smaller);
                asleep.is_reduced = true;
            }
            self.without.store(here + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(not(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri)))))]
mod imp {
    pub fn here() -> u32 {
        0
    }
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub fn leave(_: usize) {}

    /// One thread's bed; the system decides where it lies.
    #[derive(Debug)]
    pub struct Bed(());

    impl Bed {
        pub fn new() -> Self {
            Self(())
        }
        pub fn lie_down(&self, _: super::For) {}
        pub fn get_up(&self) {}
        pub fn prepare(&self, _: u32) {}
    }
}

pub use imp::{Bed, here};

#[cfg(not(any(heist_loom, heist_shuttle)))]
pub use imp::leave;

#[cfg(all(test, target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn who_leaves_a_core_may_still_come_back() {
        let mask = sched_getaffinity(None).expect("Linux knows");
        // The kernel may move it back in between, but not every time.
        let moved = (0..1000).any(|_| {
            let core = here() as usize - 1;
            leave(core);
            assert_eq!(sched_getaffinity(None).expect("Linux knows"), mask);
            here() as usize - 1 != core
        });
        assert_eq!(moved, mask.count() > 1);
    }
}
