//! A pulse on cores where threads compute.
//!
//! The kernel decides who runs on a core when somebody wakes up there, and else at its ticks, which may be 4 ms apart. A thread
//! that wakes up again a moment after it last ran has had more than its share, and so does not interrupt one that computes. A
//! few microseconds later it could, but nobody asks until the next tick; and it stays on this core, even if others are idle. So
//! a program with short tasks, one long one, and a core to spare has tasks that wait for milliseconds.
//!
//! Whenever any thread goes back to sleep on a core, the kernel decides again. So as long as the monitor sees a thread in a long
//! turn, a thread of ours wakes up on its core every now and then, to do nothing.

#[cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod imp {
    use crate::kernel;
    use heist_policy::tuning;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
    use std::time::{Duration, Instant};

    const EVERY: Duration = Duration::from_nanos(tuning::LOOK_AT_TASKS_EVERY_NS);

    /// A pulse lasts for so long after the monitor has asked for it.
    const LASTS: Duration = EVERY.saturating_mul(3);

    /// How long a thread is kept for its core's next long turn.
    const KEPT: Duration = Duration::from_secs(1);

    /// On more cores than this a pulse costs more than a late task.
    const CORES_MOST: usize = 4;

    /// Where a computing thread is seldom changes, and asking costs some 10 us.
    const ASK_EVERY: u32 = 16;

    /// All pulses there are.
    pub struct Pulses {
        /// The cores that may have one.
        allowed: CpuSet,
        cores: Vec<(usize, Arc<Pulse>)>,
        /// Threads in long turns, as the monitor sees them now.
        long: Vec<u32>,
        /// Those of the last look, and their cores if they compute.
        known: Vec<(u32, Option<usize>)>,
        looks: u32,
    }

    impl Pulses {
        pub fn new() -> Self {
            let allowed = sched_getaffinity(None).unwrap_or_default();
            Self { allowed, cores: Vec::new(), long: Vec::new(), known: Vec::new(), looks: 0 }
        }

        /// A thread is in a long turn.
        pub fn note(&mut self, tid: u32) {
            self.long.push(tid);
        }

        /// Gives the cores of the threads that have been noted a pulse, and forgets them.
        pub fn beat(&mut self) {
            self.looks = self.looks.wrapping_add(1);
            if self.looks.is_multiple_of(ASK_EVERY) || self.long.len() > CORES_MOST {
                self.known.clear();
            }
            self.known.retain(|(tid, _)| self.long.contains(tid));
            if self.long.len() <= CORES_MOST {
                for &tid in &self.long {
                    if !self.known.iter().any(|&(known, _)| known == tid) {
                        let core = kernel::computes_on(tid).filter(|&core| self.allowed.is_set(core));
                        self.known.push((tid, core));
                    }
                }
            }
            self.long.clear();
            for n in 0..self.known.len() {
                if let Some(core) = self.known[n].1 {
                    self.beat_on(core);
                }
            }
        }

        fn beat_on(&mut self, core: usize) {
            if let Some((_, pulse)) = self.cores.iter().find(|(known, _)| *known == core)
                && pulse.go_on()
            {
                return;
            }
            self.cores.retain(|(known, _)| *known != core);
            match Pulse::start(core) {
                Ok(pulse) => self.cores.push((core, pulse)),
                // No thread to be had; the program does without, as on other systems.
                Err(_) => self.allowed.unset(core),
            }
        }
    }

    /// One core's.
    struct Pulse {
        /// Until when; nothing if its thread has ended.
        until: Mutex<Option<Instant>>,
        more: Condvar,
    }

    impl Pulse {
        fn start(core: usize) -> std::io::Result<Arc<Self>> {
            let pulse =
                Arc::new(Self { until: Mutex::new(Some(Instant::now() + LASTS)), more: Condvar::new() });
            let thread = std::thread::Builder::new().name("heist-pulse".into()).stack_size(64 << 10);
            let own = Arc::clone(&pulse);
            thread.spawn(move || own.run(core))?;
            Ok(pulse)
        }

        fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
            self.until.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// False if its thread has ended.
        fn go_on(&self) -> bool {
            let now = Instant::now();
            let mut until = self.lock();
            let Some(until) = &mut *until else { return false };
            let rests = *until <= now;
            *until = now + LASTS;
            if rests {
                self.more.notify_one();
            }
            true
        }

        fn run(&self, core: usize) {
            kernel::set_slice(0, kernel::Slice::Short);
            kernel::sleep_exactly();
            let mut mask = CpuSet::new();
            mask.set(core);
            if sched_setaffinity(None, &mask).is_err() {
                *self.lock() = None;
                return;
            }
            let mut until = self.lock();
            while let Some(end) = *until {
                if Instant::now() < end {
                    drop(until);
                    std::thread::sleep(EVERY);
                    until = self.lock();
                    continue;
                }
                // LIVENESS: whoever sets a later time under this lock then notifies.
                let (guard, waited) =
                    self.more.wait_timeout(until, KEPT).unwrap_or_else(PoisonError::into_inner);
                until = guard;
                if waited.timed_out() && *until == Some(end) {
                    *until = None;
                }
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_pulse_ends_and_can_be_started_again() {
            let mut pulses = Pulses::new();
            let core =
                (0..CpuSet::MAX_CPU).find(|&core| pulses.allowed.is_set(core)).expect("a core to run on");
            for _ in 0..2 {
                pulses.beat_on(core);
                pulses.beat_on(core);
                assert_eq!(pulses.cores.len(), 1);
                let pulse = Arc::clone(&pulses.cores[0].1);
                assert!(pulse.go_on());
                while pulse.lock().is_some() {
                    std::thread::yield_now();
                }
                assert!(!pulse.go_on());
            }
        }

        #[test]
        fn only_threads_that_compute_have_one_and_not_too_many() {
            let mut pulses = Pulses::new();
            pulses.note(kernel::tid());
            pulses.beat();
            assert_eq!(pulses.cores.len(), 1);
            assert!(pulses.long.is_empty());
            let mut pulses = Pulses::new();
            (0..=CORES_MOST).for_each(|_| pulses.note(kernel::tid()));
            pulses.beat();
            assert!(pulses.cores.is_empty());
        }
    }
}

#[cfg(not(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri)))))]
mod imp {
    /// None: the system decides often enough, or not.
    pub struct Pulses;

    impl Pulses {
        pub fn new() -> Self {
            Self
        }
        pub fn note(&mut self, _: u32) {}
        pub fn beat(&mut self) {}
    }
}

pub use imp::Pulses;
