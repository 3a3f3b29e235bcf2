//! A gate that opens when a number of knocks have been heard.

use crate::rig::gate::Gate;
use heist_sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// Cloned for everybody who knocks.
#[derive(Clone)]
pub struct Count {
    left: Arc<AtomicUsize>,
    /// Where to wait for the last one.
    pub gate: Gate,
}

impl Count {
    /// Opens at the last of `knocks`, at least one.
    pub fn new(knocks: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(knocks)), gate: Gate::new() }
    }

    /// One less to wait for.
    pub fn knock(&self) {
        // ORDERING: release for what led here, acquire for the last one, which speaks for all.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.gate.open();
        }
    }
}
