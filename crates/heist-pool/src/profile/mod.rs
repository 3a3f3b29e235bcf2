#![doc = include_str!("README.md")]

mod calibrate;
mod clock;
mod frame;
#[cfg(all(test, heist_loom))]
pub(crate) mod in_models;
mod meter;
mod session;
mod start;
mod sums;
pub(crate) mod totals;
#[cfg_attr(heist_model, path = "no_whole.rs")]
mod whole;

pub use clock::Clock;
pub(crate) use frame::{Frame, Outcome};
pub use meter::{
    Blocks, Gather, Region, end_first, end_loops, end_second, fork_is_of, go_on, half_is_of, loops, spawn,
};
pub(crate) use meter::{Pause, Root, append, end_stolen, forked, measured, now_if_metered, run_root};
pub(crate) use session::join_all;
pub use session::{AnotherClock, measure, measure_with};
pub use start::Spawn;
pub use totals::note_late;
pub(crate) use totals::{Idle, note_idle, note_waited};
pub(crate) use whole::{called, start};

use heist_sync::std_atomic::{AtomicU32, Ordering};

/// How many profiles are being taken.
static SESSIONS: AtomicU32 = AtomicU32::new(0);

/// Whether anything is measured anywhere. What runs on a thread is measured if it has a frame.
#[inline]
pub fn is_on() -> bool {
    // ORDERING: relaxed. Whoever takes a job that is measured has acquired what its thread did before, and so sees it on.
    SESSIONS.load(Ordering::Relaxed) != 0
}
