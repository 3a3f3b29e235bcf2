//! What only the tasks' crate can tell.

use super::shown::{CallReport, TaskReport};
use std::sync::OnceLock;

/// How it is asked.
#[derive(Debug)]
pub struct Tasks {
    /// Every task that has not ended. `None` if that cannot be told now.
    pub now: fn() -> Option<Vec<TaskReport>>,
    /// Every blocking call and computation. `None` if that cannot be told now.
    pub calls: fn() -> Option<Vec<CallReport>>,
    /// Whether no thread polls a future that it blocks on, and no blocking call runs or is queued.
    pub are_quiet: fn() -> bool,
    /// How many threads outside of pools block on a future that is not ready.
    pub blocked_on: fn() -> usize,
}

static TASKS: OnceLock<&'static Tasks> = OnceLock::new();

/// From here on there are tasks. Once is enough.
pub fn set_tasks(tasks: &'static Tasks) {
    TASKS.get_or_init(|| tasks);
}

pub(super) fn get() -> Option<&'static Tasks> {
    TASKS.get().copied()
}
