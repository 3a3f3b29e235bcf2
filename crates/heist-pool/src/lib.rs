//! heist's pool: the threads that run jobs, tasks and ticks, their queues, and the rules about who runs.
//!
//! # Words
//!
//! | word | meaning | elsewhere |
//! |---|---|---|
//! | [`Pool`](raw::pool::Pool) | the threads and what they share | scheduler, registry |
//! | [`Worker`](raw::worker::Worker), [`WorkerShared`](raw::worker::WorkerShared) | a thread's own part, and what others may touch | P and M |
//! | permit, index | the right to run, of which there are as many as the parallelism; its number | P |
//! | observe | ask for the index: from then on the permit stays with the thread | - |
//! | lend | give the permit to another thread while waiting | compensation |
//! | resumed | a thread that goes on after a wait without a permit | - |
//! | guest | a thread of the program's own that works in the pool for a while | - |
//! | job | fork-join work: half of a fork on a stack, or a spawned closure on the heap | task |
//! | task, poll | async work, and one run of it | goroutine |
//! | tick, due | work that recurs, and the time from which on it should run | timer |
//! | stranger | a job that a wait does not need; no wait runs one, unless the pool can have no spare thread | - |
//! | fork stack | where a thread's pending halves lie: a split deque | deque |
//! | run queue, LIFO slot | a worker's 256 ready tasks, and the one place in front of them | LRQ, runnext |
//! | injector | a queue that all threads share | GRQ |
//! | driver, driver lock | sockets and timers, and the right to look at them | netpoll |
//! | searching, parked | looking for work everywhere; asleep without a permit | spinning M, parked M |
//! | overtake | run tasks without a permit, because all that hold one compute | - |
//! | resident | the thread without a permit that sits in the driver while all that hold one compute | - |
//! | monitor | the thread that sees long polls; it sleeps unless something may wait unseen | sysmon |
//!
//! # The two mirrored protocols
//!
//! ```text
//! submit                                    sleep
//!   S1' make the work visible; fence          S1 give the permit up, enter the list of the parked; fence
//!   S2' read the counters                     S2 somebody searches? sleep. Else ask every owner to share; barrier
//!       a permit is free, nobody searches:    S3 look at every queue once more
//!       wake one thread                       S4 sleep
//! ```
//!
//! One of the two sees the other: the pusher sees the free permit, or the sleeper sees the work. The thread that is woken counts as
//! searching from the moment its waker decides, so a burst of work wakes one thread; when that one finds something it wakes the next.
//! The argument in full is in `permits/README.md`; `queues/README.md` and `queues/forks/README.md` say where work waits.
//!
//! # Rejected
//!
//! - **Handing run queues over** with the permit, as Go's P does. Here queues belong to threads and are always open to thieves. So giving
//!   a permit away moves nothing: one change under a lock, and a wake.
//! - **Looking into `/proc` to decide who may go on.** A job whose wait is over used to wait for its index until the borrower was seen
//!   asleep. A borrower that spins at a lock which that job holds looks busy for ever. And some systems have no `/proc`. Now an index
//!   is bound by asking: see `docs/decisions/0009-an-index-is-bound-by-asking.md`.
//! - **Slices and timers against the kernel's scheduler**: short time slices, threads that only wake up so that the kernel looks again, a
//!   monitor with another priority. A thread that sleeps in the driver is given a core at once without any of it: see
//!   `docs/decisions/0010-somebody-sits-in-the-driver.md`.
//! - **A lock-free ledger.** Every entry is made beside a system call that costs a hundred times the lock. Sequential bookkeeping can be
//!   tested by trying all short histories.
//! - **One deque for forks and spawned jobs.** A wait must tell its own jobs from strangers in constant time, and a fork must not pay for
//!   growth: see `docs/decisions/0004-spawned-jobs-in-a-second-queue.md`.
//! - **Heartbeats.** Nothing is shared before the first beat, so a cold join of two halves of 1 ms gains nothing.

// A model of a protocol uses only what belongs to it.
#![cfg_attr(heist_model, allow(dead_code))]

mod build;
mod calls;
mod clock;
mod driver;
mod driver_lock;
mod driver_waiter;
mod due;
mod follow;
mod global;
mod metrics;
#[cfg_attr(heist_model, path = "monitor/none.rs")]
mod monitor;
mod permits;
mod places;
mod pool;
mod process;
mod profile;
mod queues;
mod recorder;
mod sample;
mod schedtrace;
mod serves;
mod signal;
#[cfg_attr(heist_model, path = "stall/none.rs")]
mod stall;
mod threads;
mod waits;
#[cfg_attr(heist_model, path = "no_watchdog.rs")]
mod watchdog;
mod worker;

/// All that heist's other crates see of the pool. Not for users: it changes without notice.
pub mod raw {
    /// Making a pool.
    pub mod build {
        pub use crate::build::BuildError;
    }
    /// The time of a pool.
    pub mod clock {
        pub use crate::clock::{Clock, ManualClock};
    }
    /// What a pool asks of whoever looks after sockets and timers.
    pub mod driver {
        pub use crate::driver::{Driver, Patience};
    }
    /// The fork stack's fast path.
    pub mod forks {
        pub use crate::queues::forks::{Exec, Hot, Popped, Pushed, Slot, hot};
    }
    /// The global pool, and which pool a call means.
    pub mod global {
        pub use crate::global::{all, current, install, is, pool, set, started};
    }
    /// Jobs.
    pub mod job {
        pub use crate::queues::job::{JobRef, Payload, discard, halt_unwinding, heap_job};
    }
    /// What the pool counts.
    pub mod metrics {
        pub use crate::metrics::{Histogram, Metrics, WorkerMetrics, WorkerState};
    }
    /// The pool.
    pub mod pool {
        pub use crate::calls::{outside_parker, wait_outside};
        pub use crate::places::Pin;
        pub use crate::pool::{Config, MOST_INDICES, MOST_THREADS, Pool};
    }
    /// What becomes of pools in a child process.
    pub mod process {
        pub use crate::process::{Caller, FOREIGN_POOL, OnBehalf, end_child_after, refuse_wait};
    }
    /// Work and span.
    pub mod profile {
        pub use crate::profile::{
            AnotherClock, Blocks, Clock, Gather, Region, Spawn, end_first, end_loops, end_second, fork_is_of,
            go_on, half_is_of, is_on, loops, measure, measure_with, note_late, spawn,
        };
    }
    /// What is recorded for traces.
    pub mod recorder {
        pub use crate::recorder::*;
        pub use heist_trace::{Kind, name};
    }
    /// What one look from outside finds of a pool.
    pub mod sample {
        pub use crate::sample::{PermitNow, PoolNow, ThreadNow, set_observer};
        pub use crate::worker::{Doing, Role};
    }
    /// What a thread can wait for.
    pub mod signal {
        pub use crate::signal::{Awaited, JobsOf, Signal};
        pub use crate::waits::{Waits, WaitsFor};
    }
    /// What a program waits for that does not go on.
    pub mod stall {
        pub use crate::stall::*;
    }
    /// Tasks, as far as the pool knows them.
    pub mod task {
        pub use crate::queues::task::{Header, Place, TaskRef, Vtable};
    }
    /// Ticks, as far as the pool knows them.
    pub mod tick {
        pub use crate::clock::Clock;
        pub use crate::queues::load::{Loads, Share};
        pub use crate::queues::ticks::{Key, NEVER, Taken, Tick, TickNow, TickRef, TickShown, Ticks, When};
    }
    /// The pool's threads.
    pub mod threads {
        pub use crate::threads::*;
    }
    /// The calling thread.
    pub mod worker {
        pub use crate::worker::{
            Demand, Inherited, Own, Spawned, Worker, WorkerShared, orphan_of, pop_inherited,
        };
    }
}
