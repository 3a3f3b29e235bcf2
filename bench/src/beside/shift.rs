//! A load and a probe at the same time.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::host::Host;
use super::load::{Load, Piece};
use super::probe::Probe;

/// When the probe is to be looked at: while the load runs.
pub struct Shift {
    begin: Sender<()>,
    end: OnceLock<Instant>,
}

/// What a shift found.
pub struct Outcome {
    pub latencies_ns: Vec<f64>,
    /// How long each piece of the load took.
    pub pieces_ns: Vec<f64>,
}

impl Shift {
    pub fn run<H: Host>(probe: Probe, load: Load, pieces: &[Piece]) -> Outcome {
        let (begin, begun) = channel();
        let shift = Arc::new(Shift { begin, end: OnceLock::new() });
        thread::scope(|scope| {
            let load = scope.spawn({
                let shift = Arc::clone(&shift);
                move || {
                    begun.recv().expect("the probe begins");
                    let pieces_ns = load.run_all::<H>(pieces);
                    shift.end.set(Instant::now()).expect("a shift ends once");
                    pieces_ns
                }
            });
            let latencies_ns = probe.run::<H>(&shift);
            Outcome { latencies_ns, pieces_ns: load.join().expect("the load's thread does not panic") }
        })
    }

    /// Everything is ready, the load may begin.
    pub fn begin(&self) {
        self.begin.send(()).expect("the load waits for its begin");
    }

    /// What is due after the end of the load does not count, but all that was due before does, even if a stall has
    /// delayed it until then.
    pub fn counts(&self, due: Instant) -> bool {
        self.end.get().is_none_or(|&end| due < end)
    }

    /// Calls `act` every `gap` on this thread while the load runs, but not for the times that were missed.
    pub fn every(&self, gap: Duration, mut act: impl FnMut()) {
        while self.counts(Instant::now()) {
            act();
            thread::sleep(gap);
        }
    }
}
