//! Calls into a pool from outside of it: by threads of the program's own, and by those of other pools. Each waits until its call is over.

use crate::pool::Pool;
use crate::profile::{self, Pause};
use crate::queues::job::{Callee, StackJob};
use crate::recorder;
use crate::signal::{Awaited, Signal};
use crate::waits::Waits;
use crate::worker::Worker;
use heist_os::WokenFor;
use heist_sync::{Parker, StdArc as Arc, thread_local};
use heist_trace::Kind;

/// Runs `callee` in `pool`: here if the calling thread is one of the pool's, or can be its guest; else on a thread of the pool, and
/// waits for it.
pub(crate) fn call(pool: &Arc<Pool>, callee: &mut Callee<'_>) {
    profile::called(&mut || match Worker::current() {
        Some(worker) if Arc::ptr_eq(worker.pool(), pool) => callee(),
        None if pool.threads().visit(pool, callee) => {}
        here => {
            let parker = here.map_or_else(outside_parker, |worker| Arc::clone(worker.shared().parker()));
            let job = StackJob::new(callee, Arc::clone(&parker));
            // SAFETY: we wait for its signal before it moves.
            let job_ref = unsafe { job.as_job_ref() };
            recorder::record(pool, Kind::Spawn, job_ref.number(), || 0);
            pool.queues().jobs.push(job_ref);
            pool.permits().announce(pool, WokenFor::Call);
            match here {
                Some(worker) => {
                    let address = job_ref.awaited();
                    worker.wait(&Called { signal: job.signal(), pool, address }, &());
                }
                None => wait_outside(job.signal(), &parker),
            }
            job.finish();
        }
    });
}

/// A call into a pool by a thread of another one.
struct Called<'a> {
    signal: &'a Signal,
    pool: &'a Pool,
    /// That of the job.
    address: usize,
}

impl Awaited for Called<'_> {
    fn is_over(&self) -> bool {
        self.signal.is_over()
    }

    fn announce_wait(&self) -> bool {
        self.signal.announce_wait()
    }

    fn what(&self) -> Waits {
        Waits::call(self.pool)
    }

    fn address(&self) -> usize {
        self.address
    }
}

thread_local! {
    static OUTSIDE: Arc<Parker> = Arc::new(Parker::new());
}

/// The parker of a thread outside of all pools. While the thread ends, in the destructor of another thread-local, a new one.
pub fn outside_parker() -> Arc<Parker> {
    OUTSIDE.try_with(Arc::clone).unwrap_or_else(|_| Arc::new(Parker::new()))
}

/// Waits on a thread outside of all pools.
pub fn wait_outside(target: &impl Awaited, parker: &Parker) {
    let _pause = Pause::begin(false);
    // LIVENESS: announced first; who ends the wait then unparks us. A token from elsewhere only costs a turn.
    while target.announce_wait() {
        parker.park();
    }
}
