//! Uneven work: 100, 100, 200 and 350 ms for four workers, first each its own, then whoever is free.

use super::load::{Load, tell, traced};
use heist::ThreadPool;
use heist::trace::Trace;
use std::io::{self, Write};
use std::time::Duration;

/// What each worker starts with, in pieces; more than four workers begin again from the first.
const LOAD: [u32; 4] = [20, 20, 40, 70];

/// How long a piece holds its worker.
const PIECE: Duration = Duration::from_millis(5);

fn pieces(worker: usize) -> u32 {
    LOAD[worker % LOAD.len()]
}

/// Both runs with their timelines. Returns the second's trace.
pub fn show(pool: &ThreadPool, width: usize, out: &mut dyn Write) -> io::Result<Trace> {
    let n = pool.current_num_threads();
    let load = Load::on(n);
    let work = || load.hold(PIECE);
    let total: u32 = (0..n).map(pieces).sum();
    let does = match load {
        Load::Computes => "compute",
        Load::Waits => "only wait",
    };
    writeln!(
        out,
        "Uneven work on {n} workers: {total} pieces that {does} for {} ms each",
        PIECE.as_millis()
    )?;
    let loads: Vec<String> =
        (0..n.min(8)).map(|w| (pieces(w) * PIECE.as_millis() as u32).to_string()).collect();
    let more = if n > 8 { " ..." } else { "" };
    writeln!(out, "worker by worker: {}{more} ms\n", loads.join(" / "))?;

    let split = traced(pool, || {
        pool.broadcast(|context| (0..pieces(context.index())).for_each(|_| work()));
    });
    tell("Static split: each worker does its own", &split, width, out)?;

    let stolen = traced(pool, || {
        pool.scope(|scope| {
            scope.spawn_broadcast(|scope, context| {
                for _ in 0..pieces(context.index()) {
                    scope.spawn(move |_| load.hold(PIECE));
                }
            });
        });
    });
    tell("Stealing: the same queues, and whoever is out of work takes from the others", &stolen, width, out)?;
    let faster = split.1.as_secs_f64() / stolen.1.as_secs_f64();
    writeln!(out, "Stealing was {faster:.2} times as fast.\n")?;
    Ok(stolen.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heist::trace::Timeline;

    /// A static split waits for the slowest worker, stealing for the average one.
    #[test]
    fn stealing_beats_the_static_split_on_any_number_of_workers() {
        for n in [1, 2, 4, 7] {
            let pool = heist::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            let mut text = Vec::new();
            let trace = show(&pool, 80, &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains("Static split") && text.contains("Stealing"), "{text}");
            let steals = Timeline::new(&trace).steals();
            // Two workers have the same load and need not steal; more have not; one cannot.
            assert!(n == 2 || (steals > 0) == (n > 2), "{n} workers, {steals} steals");
        }
    }
}
