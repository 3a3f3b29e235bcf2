//! Why does it not go on? A [`report()`] of all threads, tasks and ticks: who sleeps inside of a job, what each thread waits for, who awaits whom, which tasks
//! nobody will wake.
//!
//! - On request: [`report()`].
//! - By itself: [`ThreadPoolBuilder::stall_after`](crate::ThreadPoolBuilder::stall_after), or `HEIST_STALL=5` in the environment, prints a report on standard
//!   error when a thread or task has not gone on for so long.
//! - On SIGQUIT: [`on_sigquit`].
//!
//! Progress is judged thread by thread, so a stall is seen beside timers and sockets that keep going. A thread that has been inside of one job,
//! poll or tick all the while and has used no CPU time sleeps in the kernel; one that has used some computes, which is no stall.
//!
//! ```
//! let report = heist::stall::report();
//! if report.is_stalled() {
//!     eprintln!("{report}");
//! }
//! ```

pub use heist_pool::raw::signal::WaitsFor;
pub use heist_pool::raw::stall::{
    CallReport, Finding, Node, PermitReport, PoolId, PoolReport, Progress, Report, TaskReport, TaskState,
    ThreadReport, TickReport, on_sigquit, report,
};
pub use heist_pool::raw::threads::{Closure, ClosureKind, ThreadState};
