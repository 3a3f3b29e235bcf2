//! Where cells come from: size classes, a few free cells of each at hand in every thread, and a depot for the rest.
//!
//! Memory that was once a cell stays one, and is never given back to the system: that is what lets [`dump`](super::dump) look at
//! cells that may be freed at any moment (R6). A cell may be taken on one thread and given back on another. Each thread keeps
//! up to two batches per class, and goes to the depot, under its lock, for a whole batch.

use std::alloc::Layout;

#[cfg_attr(heist_model, path = "slabs_model.rs")]
mod slabs;

pub(super) use slabs::*;

/// Every cell is aligned so.
pub(super) const ALIGN: usize = 16;

/// Sizes of cells. Steps of at most a quarter; small ones are fine, because a program has the most of those.
const SIZES: [usize; 18] =
    [64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024, 1536, 2048];

/// The size of the smallest cell.
pub(super) const SMALLEST: usize = SIZES[0];

/// A future that would make its cell larger than this is boxed.
pub(super) const LARGEST: usize = SIZES[SIZES.len() - 1];

/// Which of the [`SIZES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Class(u8);

impl Class {
    /// The smallest class for cells of this layout.
    ///
    /// # Panics
    /// If there is none. It is called at compile time.
    pub(super) const fn of(layout: Layout) -> Self {
        if !slabs::HAS_CLASSES {
            return Self(0);
        }
        assert!(layout.align() <= ALIGN);
        let mut class = 0;
        while SIZES[class] < layout.size() {
            class += 1;
        }
        Self(class as u8)
    }

    /// Bytes per cell.
    pub(super) const fn size(self) -> usize {
        SIZES[self.0 as usize]
    }

    /// Cells per batch: less of the large ones, since every thread may keep two batches.
    const fn batch(self) -> u32 {
        match 8192 / self.size() {
            0..4 => 4,
            n if n > 32 => 32,
            n => n as u32,
        }
    }
}
