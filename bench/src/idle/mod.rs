//! An idle pool must cost nothing: CPU time and wake-ups in 5 s, in a process of its own.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::args::Pooled;
use crate::loops::halving;
use crate::peers::{Backend, rayon::Rayon};
use crate::process::{self, Switches};
use crate::race::Plan;
#[cfg(feature = "heist")]
use crate::report::{Bar, Sense};
use crate::report::{Judged, Row, Table};

const WORKERS: usize = 2;
/// A pool may search for a while before it sleeps.
const SETTLE: Duration = Duration::from_millis(1500);
const WATCH: Duration = Duration::from_secs(5);

#[derive(Serialize, Deserialize)]
struct Spent {
    cpu_us: f64,
    wake_ups: u64,
}

pub fn line(_: &mut Plan) -> Vec<Table> {
    // The children sleep, so that they may do so at the same time.
    let spent: Vec<(Pooled, Spent)> = thread::scope(|scope| {
        let children: Vec<_> = Pooled::ALL
            .iter()
            .map(|&pooled| (pooled, scope.spawn(move || process::run_alone(&["idle", pooled.word()]))))
            .collect();
        children
            .into_iter()
            .map(|(pooled, child)| (pooled, child.join().expect("the child answers")))
            .collect()
    });
    vec![cpu(&spent), wake_ups(&spent)]
}

fn rows(spent: &[(Pooled, Spent)], figure: impl Fn(&Spent) -> f64) -> Vec<Row> {
    spent
        .iter()
        .map(|(pooled, spent)| {
            let (name, figure) = (pooled.word().into(), figure(spent));
            Row { name, best: figure, median: figure, samples: 1, bars: Vec::new() }
        })
        .collect()
}

fn cpu(spent: &[(Pooled, Spent)]) -> Table {
    let title = format!("CPU time of the process in {} s, pool of {WORKERS} workers", WATCH.as_secs());
    let mut table = Table::with_rows("idle", title, "us", Judged::Best, rows(spent, |spent| spent.cpu_us));
    #[cfg(feature = "heist")]
    {
        let measured = table.figure("heist");
        table.bar("heist", Bar { measured, what: "us".into(), sense: Sense::Below, limit: 100.0 });
    }
    table
}

fn wake_ups(spent: &[(Pooled, Spent)]) -> Table {
    let title = format!("wake-ups of all threads but the main one in {} s", WATCH.as_secs());
    let rows = rows(spent, |spent| spent.wake_ups as f64);
    let mut table = Table::with_rows("idle", title, "voluntary switches", Judged::Best, rows);
    #[cfg(feature = "heist")]
    {
        let measured = table.figure("heist");
        table.bar("heist", Bar { measured, what: "wake-ups".into(), sense: Sense::AtMost, limit: 0.0 });
    }
    table
}

/// The child's part.
pub fn alone(backend: Pooled) {
    let spent = match backend {
        Pooled::Rayon => spent::<Rayon>(),
        #[cfg(feature = "heist")]
        Pooled::Heist => spent::<crate::peers::heist::Heist>(),
    };
    process::answer(&spent);
}

fn spent<B: Backend>() -> Spent {
    let main_thread = std::fs::read_to_string("/proc/self/comm").expect("the main thread has a name");
    let pool = B::pool(WORKERS);
    black_box(B::install(&pool, || halving::sum::<B>(0..black_box(1_000_000), 16, &|block| block.sum())));
    thread::sleep(SETTLE);
    // The reading of /proc costs CPU time itself, so it stays outside of the two readings of the clock.
    let switches = Switches::now(main_thread.trim());
    let cpu = process::cpu_time();
    thread::sleep(WATCH);
    let cpu = process::cpu_time() - cpu;
    let switches = Switches::now(main_thread.trim()).since(switches);
    Spent { cpu_us: cpu.as_nanos() as f64 / 1e3, wake_ups: switches.voluntary }
}
