//! The jobs that a scope or a broadcast waits for.

use heist_pool::raw::job::{JobRef, heap_job};
use heist_pool::raw::profile::{self, Gather, Spawn};
use heist_pool::raw::signal::Signal;
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::{Arc, Parker};

/// How many of them are not over, and a signal for when none is left. It lies on the stack of the thread that waits; each job's last access
/// is to count itself out.
pub(crate) struct Pending {
    count: AtomicUsize,
    over: Signal,
    /// What they came to, while a profile is taken.
    gather: Gather,
}

/// An address that a job may carry to another thread.
struct Address(*const Pending);

// SAFETY: all that is behind it may be used by several threads, and it is there until the job has counted itself out.
unsafe impl Send for Address {}

impl Address {
    fn pointer(&self) -> *const Pending {
        self.0
    }
}

impl Pending {
    pub fn new(count: usize, parker: Arc<Parker>) -> Self {
        Self { count: AtomicUsize::new(count), over: Signal::new(parker), gather: Gather::default() }
    }

    /// What to wait for.
    pub fn over(&self) -> &Signal {
        &self.over
    }

    /// How many are not over.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub fn count_in(&self, jobs: usize) {
        // ORDERING: relaxed; the one that adds is itself counted, so the count is above 0 before and after.
        self.count.fetch_add(jobs, Ordering::Relaxed);
    }

    /// A job is over. Nothing of what it belongs to may be touched after.
    ///
    /// # Safety
    /// `this` is valid and counts the caller.
    pub unsafe fn count_out(this: *const Self) {
        // SAFETY: by the caller.
        let count = unsafe { &(*this).count };
        // ORDERING: release our work to, and acquire all others' for, the one that counts out last and sets the signal.
        if count.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: the waiter frees it only after this signal, which we alone set.
            unsafe { Signal::set(&raw const (*this).over) };
        }
    }

    /// Queues `job`, one of those that are counted, by `queue`: measured, if a profile is taken.
    #[inline]
    pub fn queue(&self, job: JobRef, mut queue: impl FnMut(JobRef)) {
        if profile::is_on() {
            profile::spawn(&mut |spawn| queue(self.measured(job, spawn)));
        } else {
            queue(job);
        }
    }

    #[cold]
    fn measured(&self, job: JobRef, spawn: Spawn) -> JobRef {
        // The job counts itself out before what it came to is known.
        self.count_in(1);
        let this = Address(self);
        let measured = move || {
            let this = this.pointer();
            // SAFETY: counted in above, so it is there; the job runs once.
            unsafe {
                Gather::run(&raw const (*this).gather, spawn, &mut || job.run());
                Self::count_out(this);
            }
        };
        // SAFETY: neither the job nor the measuring unwinds, and both are waited for.
        unsafe { heap_job(measured, job.owner()) }
    }

    /// All are over, and whoever has waited goes on.
    pub fn end(&self) {
        if profile::is_on() {
            self.gather.end();
        }
    }
}
