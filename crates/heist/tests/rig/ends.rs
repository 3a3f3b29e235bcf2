//! How tasks end: each runs to its end at most once, each future is dropped exactly once, and nobody is forgotten.

use crate::rig::gate::Gate;
use crate::rig::ledger::Ledger;
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// A ledger for the ends and one for the drops.
pub struct Ends {
    ended: Ledger,
    dropped: Ledger,
    left: AtomicUsize,
    all_dropped: Gate,
}

/// Lives in the future of one task.
pub struct Life {
    ends: Arc<Ends>,
    id: usize,
}

impl Ends {
    /// For the tasks with ids below `tasks`.
    pub fn new(tasks: usize) -> Arc<Self> {
        let (ended, dropped) = (Ledger::new(tasks), Ledger::new(tasks));
        Arc::new(Self { ended, dropped, left: AtomicUsize::new(tasks), all_dropped: Gate::new() })
    }

    /// What the future of task `id` owns.
    pub fn life(self: &Arc<Self>, id: usize) -> Life {
        Life { ends: Arc::clone(self), id }
    }

    /// Blocks until every future is gone.
    pub fn wait(&self) {
        self.all_dropped.block();
    }

    /// Every future has been dropped exactly once, after it had run to its end exactly once.
    pub fn check_all_ended(&self, what: &str) {
        self.dropped.check_all_once(&format!("{what}, futures dropped"));
        self.ended.check_all_once(&format!("{what}, tasks ended"));
    }
}

impl Life {
    /// The task is at its end.
    pub fn end(&self) {
        self.ends.ended.mark(self.id);
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.ends.dropped.mark(self.id);
        // ORDERING: release for the marks, acquire for whoever is last and lets the checker look.
        if self.ends.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.ends.all_dropped.open();
        }
    }
}
