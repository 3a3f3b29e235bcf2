//! What only the operating system can tell heist, or do for it.
//!
//! Every question may be answered by `None`, *unknown*, and every request may be refused: on other systems, in a sandbox, without
//! `/proc`, or because the program has turned the hints off. heist is right without any of this; it only runs faster with it.
//!
//! [`limits`] says how many workers a pool should have. That is asked when a pool is made, also if the hints are off. [`topology`] says which
//! CPUs are near to each other.

mod affinity;
#[cfg(not(heist_model))]
mod alarm;
mod cpu_list;
mod exit;
mod file;
#[cfg_attr(not(all(target_os = "linux", not(any(heist_model, miri)))), path = "host_unknown.rs")]
mod host;
pub mod limits;
#[cfg(all(target_os = "linux", not(any(heist_model, miri))))]
mod linux;
pub mod quit;
pub mod topology;
#[cfg(test)]
#[path = "tree_tests.rs"]
mod tree;

pub use affinity::{AffinityHint, WokenFor, leave_cpu};
#[cfg(not(heist_model))]
pub use alarm::Alarm;
pub use cpu_list::{cpu_list, parse_cpu_list};
pub use exit::{at_exit, file_of_code, is_privileged};
pub use host::stolen_ms;

#[cfg(not(all(target_os = "linux", not(any(heist_model, miri)))))]
use Unknown as Real;
#[cfg(all(target_os = "linux", not(any(heist_model, miri))))]
use linux::Linux as Real;
use std::fmt;

/// The kernel's number of a thread of this process.
pub type ThreadNumber = u32;

/// The CPUs that a thread may run on, one bit for each of the first 1,024.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuMask([u64; 16]);

impl CpuMask {
    /// How many CPUs are in it.
    ///
    /// ```
    /// assert_eq!(heist_os::CpuMask::default().with(3).with(900).count(), 2);
    /// ```
    pub fn count(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// The CPUs in it, in order.
    ///
    /// ```
    /// let mask = heist_os::CpuMask::default().with(3).with(900);
    /// assert_eq!(mask.cpus().collect::<Vec<_>>(), [3, 900]);
    /// ```
    pub fn cpus(&self) -> impl Iterator<Item = usize> {
        (0..64 * self.0.len()).filter(|&cpu| self.has(cpu))
    }

    /// Whether `cpu` is in it.
    ///
    /// ```
    /// assert!(!heist_os::CpuMask::default().has(0));
    /// ```
    pub fn has(&self, cpu: usize) -> bool {
        self.0.get(cpu / 64).is_some_and(|bits| bits >> (cpu % 64) & 1 == 1)
    }

    /// The same mask with `cpu` in it. A CPU beyond the first 1,024 changes nothing.
    ///
    /// ```
    /// assert!(heist_os::CpuMask::default().with(70).has(70));
    /// ```
    #[must_use]
    pub fn with(mut self, cpu: usize) -> Self {
        if let Some(bits) = self.0.get_mut(cpu / 64) {
            *bits |= 1 << (cpu % 64);
        }
        self
    }

    /// The same mask without `cpu`.
    ///
    /// ```
    /// let mask = heist_os::CpuMask::default().with(1).with(2);
    /// assert_eq!(mask.without(1).count(), 1);
    /// ```
    #[must_use]
    pub fn without(mut self, cpu: usize) -> Self {
        if let Some(bits) = self.0.get_mut(cpu / 64) {
            *bits &= !(1 << (cpu % 64));
        }
        self
    }
}

/// What a thread has used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// CPU time, in nanoseconds.
    pub cpu_ns: u64,
    /// How often it has given its CPU up by itself, to sleep.
    pub sleeps: u64,
    /// For how long it was ready to run and had no CPU, in nanoseconds; 0 if the kernel does not say.
    pub delayed_ns: u64,
}

/// The questions and requests. Each default is the answer of a system that knows nothing.
pub trait System: Send + Sync + fmt::Debug {
    /// The calling thread's number.
    fn thread_number(&self) -> Option<ThreadNumber> {
        None
    }

    /// The CPU time that a thread has used, in nanoseconds. Unknown for a thread that has ended.
    fn cpu_ns(&self, _thread: ThreadNumber) -> Option<u64> {
        None
    }

    /// What the calling thread has used so far.
    fn usage(&self) -> Option<Usage> {
        None
    }

    /// The lowest address of the calling thread's stack.
    fn stack_end(&self) -> Option<usize> {
        None
    }

    /// The CPU on which the calling thread runs.
    fn cpu(&self) -> Option<usize> {
        None
    }

    /// The CPU on which a thread runs, or waits to run. `None` also if it sleeps.
    fn cpu_of_runnable(&self, _thread: ThreadNumber) -> Option<usize> {
        None
    }

    /// The function of the kernel in which a thread sleeps, for people to read.
    fn sleeps_in(&self, _thread: ThreadNumber) -> Option<Box<str>> {
        None
    }

    /// The CPUs that a thread may run on; of the calling one for `None`.
    fn mask(&self, _thread: Option<ThreadNumber>) -> Option<CpuMask> {
        None
    }

    /// Asks that the calling thread be woken at most this long after its time-outs. False if that was refused.
    fn set_timer_slack(&self, _ns: u64) -> bool {
        false
    }

    /// Asks that the calling thread be given a CPU for this long at a time; for as long as others are, if it is `None`. One that asks for little
    /// is given it sooner when it wakes up. False if that was refused.
    fn set_slice(&self, _ns: Option<u64>) -> bool {
        false
    }

    /// Whether a wait for sockets can end at a nanosecond, and not only at a millisecond.
    fn has_fine_waits(&self) -> Option<bool> {
        None
    }

    /// Asks for other CPUs for a thread, or for the calling one. False if that was refused.
    fn set_mask(&self, _thread: Option<ThreadNumber>, _mask: &CpuMask) -> bool {
        false
    }
}

/// A system that answers nothing: the hints are off, or nobody knows.
#[derive(Debug)]
struct Unknown;

impl System for Unknown {}

/// The system to ask. `hints`: what the program wants; without a wish, `HEIST_OS_HINTS=0` in the environment turns the hints off.
///
/// ```
/// let nothing = heist_os::system(Some(false));
/// assert_eq!(nothing.thread_number(), None);
/// ```
pub fn system(hints: Option<bool>) -> &'static dyn System {
    let wanted = || heist_sync::switch("HEIST_OS_HINTS") != Some(false);
    if hints.unwrap_or_else(wanted) { real() } else { &Unknown }
}

/// This system, whatever anybody wishes: what is no hint, such as how many CPUs there are.
fn real() -> &'static dyn System {
    &Real
}
