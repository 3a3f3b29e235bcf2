//! What a program waits for when it does not go on: a report of all threads, tasks and ticks, on request, on a signal, or by itself.
//!
//! Data flows one way. `look.rs` looks at the threads of all pools and remembers what it saw: progress is judged thread by thread, by the count
//! of jobs and polls in its status and by its CPU clock. `tasks.rs` is what the tasks' crate tells. `graph.rs`, a plain function, finds who waits for
//! whom in a circle; `judge.rs`, another one, what is wrong; and a [`Report`] (`shown.rs`, `text.rs`) has all of it. `watch.rs` is the thread that does so
//! by itself.
//!
//! Nothing here waits for the program: threads are read without a lock, and where one of heist's own is needed, it is tried for a while and
//! the report says what it could not tell.

mod graph;
mod judge;
mod look;
#[cfg(all(test, not(heist_model)))]
mod made_up;
mod quit;
mod shown;
mod tasks;
mod text;
mod watch;

pub use quit::on_sigquit;
pub use shown::{
    CallReport, Finding, Node, PermitReport, PoolId, PoolReport, Progress, Report, TaskReport, TaskState,
    ThreadReport, TickReport,
};
pub use tasks::{Tasks, set_tasks};
pub(crate) use watch::{check, start};
pub use watch::{is_told, is_watched, report};
