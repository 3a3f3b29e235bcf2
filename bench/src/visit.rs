//! A visit: one contestant's turn, timed where the work runs (inside its pool).

use std::hint::black_box;
use std::time::Instant;

/// What a turn computed, and how long each repetition took in nanoseconds.
pub struct Visit<V> {
    pub value: V,
    pub samples_ns: Vec<f64>,
}

impl<V> Visit<V> {
    /// Divides every sample, for example by the number of forks.
    pub fn per(mut self, count: u64) -> Self {
        for sample in &mut self.samples_ns {
            *sample /= count as f64;
        }
        self
    }

    /// The same samples with another value.
    pub fn map<W>(self, convert: impl FnOnce(V) -> W) -> Visit<W> {
        Visit { value: convert(self.value), samples_ns: self.samples_ns }
    }
}

/// One sample of one call.
pub fn once<V>(work: impl FnOnce() -> V) -> Visit<V> {
    let start = Instant::now();
    let value = black_box(work());
    Visit { samples_ns: vec![start.elapsed().as_nanos() as f64], value }
}

/// `samples` samples, each the mean of `batch` calls; the batch hides the clock's own price behind short work.
pub fn repeat<V>(samples: usize, batch: u32, mut work: impl FnMut() -> V) -> Visit<V> {
    assert!(samples > 0 && batch > 0, "a visit needs at least one call");
    let mut samples_ns = Vec::with_capacity(samples);
    let mut value = black_box(work());
    for _ in 0..samples {
        let start = Instant::now();
        for _ in 0..batch {
            value = black_box(work());
        }
        samples_ns.push(start.elapsed().as_nanos() as f64 / f64::from(batch));
    }
    Visit { value, samples_ns }
}
