//! What the pools' threads did: recordings, and (feature `trace-output`, on by default) timelines, files for trace viewers and the flight
//! recorder.
//!
//! A fork that nobody steals records nothing. Steals, stolen and spawned jobs, polls and wakes of tasks, ticks, searching, parking, lending and
//! blocking do, and so do the program's own [spans](span) and [counters](counter). Slices are called by the names of tasks and ticks, or by
//! the place in the program that they come from.
//!
//! | to record | use |
//! |---|---|
//! | a whole run of a program that you do not want to change | `HEIST_TRACE=file.json` in its environment |
//! | a part of a program | [`start`] and [`stop`], or those of a [pool](crate::ThreadPool::start_trace) |
//! | the last seconds before something goes wrong | [`FlightRecorder`] |
//!
//! Open the JSON at ui.perfetto.dev, or in chrome://tracing.
//!
//! ```standalone_crate
//! heist::trace::start();
//! {
//!     let _span = heist::trace::span("sum");
//!     heist::join(|| 1, || 2);
//! }
//! let trace = heist::trace::stop();
//! # #[cfg(feature = "trace-output")]
//! trace.write_chrome(std::io::sink())?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Without a recording each of these costs one branch; with one, some 30 ns an event. A thread keeps its newest 16,384 events: a trace
//! says how many are missing. `HEIST_TRACE` and the flight recorder empty the rings ten times a second, and when one is half full.

#[cfg(feature = "trace-output")]
mod flight;
#[cfg(feature = "tracing")]
mod layer;

#[cfg(feature = "trace-output")]
pub use flight::{FlightRecorder, FlightRecorderBuilder};
pub use heist_trace::*;
#[cfg(feature = "tracing")]
pub use layer::TracingLayer;

use heist_pool::raw::{global, recorder};

/// Starts recording the pool of the calling thread, or else the global pool, which is started if it is not there. A recording that is under way
/// begins anew.
///
/// ```standalone_crate
/// heist::trace::start();
/// heist::join(|| (), || ());
/// assert_eq!(heist::trace::stop().lost(), 0);
/// ```
pub fn start() {
    let pool = global::current();
    pool.refuse_if_foreign();
    pool.recorder().start(&pool);
}

/// Stops that recording and returns it. Empty if there was none.
///
/// ```standalone_crate
/// assert!(heist::trace::stop().events().is_empty());
/// ```
pub fn stop() -> Trace {
    let pool = global::current();
    pool.refuse_if_foreign();
    pool.recorder().stop(&pool)
}

/// What was recorded since [`start`]. The recording goes on.
///
/// ```standalone_crate
/// heist::trace::start();
/// heist::scope(|s| s.spawn(|_| ()));
/// let so_far = heist::trace::snapshot().events().len();
/// assert!(heist::trace::stop().events().len() >= so_far);
/// ```
pub fn snapshot() -> Trace {
    let pool = global::current();
    pool.refuse_if_foreign();
    pool.recorder().snapshot(&pool)
}

/// A span of the program's own: a slice on the thread's track, from here to where this is dropped.
///
/// Hold it across an `await`, and it may end on another thread than it began: use it between two of them.
///
/// ```
/// let _span = heist::trace::span("parse");
/// ```
#[must_use = "the span ends when this is dropped"]
pub fn span(name: &str) -> Span {
    recorder::record_own(Kind::SpanStart, 0, 0, || name::number(name));
    Span { _not_send: std::marker::PhantomData }
}

/// See [`span`].
///
/// ```
/// let span: heist::trace::Span = heist::trace::span("parse");
/// drop(span);
/// ```
#[derive(Debug)]
pub struct Span {
    /// A span ends on the thread on which it began.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for Span {
    fn drop(&mut self) {
        recorder::record_own(Kind::SpanEnd, 0, 0, || 0);
    }
}

/// A point of a graph called `name`: something that the program counts.
///
/// ```
/// heist::trace::counter("open files", 3);
/// ```
pub fn counter(name: &str, value: i64) {
    recorder::record_own(Kind::Counter, value as u32, (value >> 32) as u32, || name::number(name));
}
