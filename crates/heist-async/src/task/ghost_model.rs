//! What the models know of a cell.

use heist_sync::cell::UnsafeCell;
use heist_sync::std_atomic::{AtomicBool, Ordering};

pub(super) struct Ghost {
    /// Stands for the stage: loom cannot look into a union.
    stage: UnsafeCell<()>,
    /// Whether the cell was given back: nobody may touch it then.
    is_buried: AtomicBool,
}

impl Ghost {
    pub fn new() -> Self {
        Self { stage: UnsafeCell::new(()), is_buried: AtomicBool::new(false) }
    }

    pub fn check_use(&self) {
        assert!(!self.is_buried.load(Ordering::Relaxed), "a cell was used after it was given back");
    }

    /// The caller has the stage to itself.
    pub fn touch_stage(&self) {
        self.stage.with_mut(|_| ());
    }

    /// The caller has all of the cell to itself, and gives it back.
    pub fn bury(&self) {
        self.touch_stage();
        assert!(!self.is_buried.swap(true, Ordering::Relaxed), "a cell was given back twice");
    }
}
