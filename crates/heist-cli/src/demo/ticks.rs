//! Uneven ticks: one worker has more than it can do, first alone, then with the others' help.

use heist::ThreadPool;
use heist::tick::{self, Next};
use std::io::{self, Write};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_millis(50);
/// For each worker, of which the first has the heavy ones: 140 % of its time. The others have 20 %.
const TICKS: u32 = 10;
const HEAVY: Duration = Duration::from_millis(7);
const LIGHT: Duration = Duration::from_millis(1);
/// How long each part runs.
const RUNTIME: Duration = Duration::from_secs(3);
/// Until the first run: all are spawned by then.
const LEAD: Duration = Duration::from_millis(50);

/// Lateness from nothing to a period and more.
const LEVELS: [char; 9] = [
    '\u{b7}', '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}',
];

/// When a run was due after the first one, and how late it has begun.
struct Run {
    due: Duration,
    lateness: Duration,
}

/// Both parts, with how late the ticks were.
pub fn show(pool: &ThreadPool, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let n = pool.current_num_threads();
    writeln!(out, "\nTicks on {n} workers: {} for each, every {} ms", TICKS, PERIOD.as_millis())?;
    let load = |cost: Duration| (cost * TICKS).as_secs_f64() / PERIOD.as_secs_f64() * 100.0;
    writeln!(
        out,
        "the first worker's take {:.0} % of its time, the others' {:.0} %\n",
        load(HEAVY),
        load(LIGHT)
    )?;
    let alone = run(pool, false);
    tell("Pinned: each worker runs its own", &alone, width, out)?;
    let stolen = run(pool, true);
    tell("Stealing: who has time takes over what is late", &stolen, width, out)?;
    let [alone, stolen] = [alone, stolen].map(|runs| quantile(&runs, 0.99).as_secs_f64());
    writeln!(out, "With stealing the latest hundredth began {:.0} times as soon.", alone / stolen.max(1e-6))
}

/// A run holds its worker without computing, so that four workers are four on any machine.
fn run(pool: &ThreadPool, is_stealing: bool) -> Vec<Run> {
    let (send, runs) = channel();
    let (workers, start) = (pool.current_num_threads() as u32, Instant::now() + LEAD);
    // As long as none has run, new ticks go to the workers in turn: every n-th one to the first.
    let spawn = |number: u32| {
        let send = send.clone();
        let cost = if number.is_multiple_of(workers) { HEAVY } else { LIGHT };
        let tick = tick::every(PERIOD).start_at(start + PERIOD * number / (TICKS * workers));
        let tick = if is_stealing { tick } else { tick.pinned() };
        tick.spawn_on(pool, move |cx| {
            let run = Run { due: cx.scheduled().saturating_duration_since(start), lateness: cx.lateness() };
            send.send(run).expect("the demo waits for its ticks");
            std::thread::sleep(cost);
            Next::Continue
        })
    };
    let ticks: Vec<_> = (0..TICKS * workers).map(spawn).collect();
    std::thread::sleep(LEAD + RUNTIME);
    for tick in &ticks {
        tick.cancel();
    }
    for tick in &ticks {
        tick.cancel_and_wait();
    }
    runs.try_iter().collect()
}

fn tell(title: &str, runs: &[Run], width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{title}")?;
    writeln!(out, "{}", draw(runs, width))?;
    let [median, p99, most] = [0.5, 0.99, 1.0].map(|share| quantile(runs, share).as_secs_f64() * 1e3);
    writeln!(
        out,
        "  {} runs; late by {median:.1} ms (median), {p99:.1} ms (p99), {most:.1} ms (most)\n",
        runs.len()
    )
}

/// The latest run of each moment, as one line: a full block is a period or more.
fn draw(runs: &[Run], width: usize) -> String {
    let mut latest = vec![Duration::ZERO; width];
    for run in runs {
        let column = (run.due.as_secs_f64() / RUNTIME.as_secs_f64() * width as f64) as usize;
        let latest = &mut latest[column.min(width - 1)];
        *latest = run.lateness.max(*latest);
    }
    let top = LEVELS.len() - 1;
    let level =
        |lateness: Duration| (lateness.as_secs_f64() / PERIOD.as_secs_f64() * top as f64).round() as usize;
    latest.into_iter().map(|lateness| LEVELS[level(lateness).min(top)]).collect()
}

/// The lateness that `share` of the runs do not exceed.
fn quantile(runs: &[Run], share: f64) -> Duration {
    let mut lateness: Vec<Duration> = runs.iter().map(|run| run.lateness).collect();
    lateness.sort();
    let rank = (share * lateness.len() as f64).ceil() as usize;
    lateness.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(due: Duration, lateness: Duration) -> Run {
        Run { due, lateness }
    }

    #[test]
    fn each_column_shows_its_latest_run() {
        let quarter = RUNTIME / 4;
        let runs = [
            run(Duration::ZERO, Duration::ZERO),
            run(quarter, PERIOD / 2),
            run(quarter, Duration::ZERO),
            run(RUNTIME * 2, PERIOD * 9),
        ];
        assert_eq!(draw(&runs, 4), "\u{b7}\u{2584}\u{b7}\u{2588}");
    }

    #[test]
    fn quantiles_are_runs() {
        let runs: Vec<Run> = (1..=100).map(|ms| run(Duration::ZERO, Duration::from_millis(ms))).collect();
        assert_eq!(quantile(&runs, 0.99), Duration::from_millis(99));
        assert_eq!(quantile(&runs, 1.0), Duration::from_millis(100));
        assert_eq!(quantile(&[], 0.5), Duration::ZERO);
    }

    #[test]
    fn both_parts_are_told() {
        let pool = heist::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut text = Vec::new();
        show(&pool, 60, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("Pinned") && text.contains("Stealing"), "{text}");
    }
}
