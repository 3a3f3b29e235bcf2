//! Whether other threads are worth waking for a sort.

use std::cmp::Ordering;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Fewer elements than this are sorted by one thread, whatever a comparison costs.
const NEVER_BELOW: usize = 1 << 10;

/// From so many elements on even the cheapest comparisons add up.
const ALWAYS_FROM: usize = 1 << 15;

/// Comparisons that are timed in between. Integers are compared in nanoseconds, long strings or keys that are made anew
/// each time in microseconds, so the length alone says little.
const TRIALS: usize = 32;

/// The least work to share: several times what it costs to wake a thread and to get the results back from it.
const WORK_MIN: Duration = Duration::from_micros(400);

/// Whether sorting `v` takes long enough for other threads to help.
pub(super) fn is_worth_sharing<T, F>(v: &[T], cmp: &F) -> bool
where
    F: Fn(&T, &T) -> Ordering,
{
    match v.len() {
        ..NEVER_BELOW => false,
        ALWAYS_FROM.. => true,
        len => {
            let comparisons = len * len.ilog2() as usize;
            time_trials(v, cmp).as_nanos() * comparisons as u128 / TRIALS as u128 > WORK_MIN.as_nanos()
        }
    }
}

/// How long it takes to compare [`TRIALS`] elements with others half a slice away.
fn time_trials<T, F>(v: &[T], cmp: &F) -> Duration
where
    F: Fn(&T, &T) -> Ordering,
{
    let (left, right) = v.split_at(v.len() / 2);
    let step = left.len() / TRIALS;
    let start = Instant::now();
    for (a, b) in left.iter().zip(right).step_by(step).take(TRIALS) {
        black_box(cmp(a, b));
    }
    start.elapsed()
}
