//! The lines of the benchmark and their order.

use std::fs::File;
use std::io::BufWriter;
use std::process::ExitCode;
use std::time::Instant;

use clap::ValueEnum;

use crate::args::Args;
use crate::machine::Watch;
use crate::race::Plan;
use crate::report::{Report, Table};
#[cfg(feature = "heist")]
use crate::resize;
use crate::{
    beside, cold, deque, everyday, fib, idle, iters, little, loops, nested, recorded, spawn, tasks, ticks,
    tree,
};

/// Above this share of a core in the hands of others, best times on all cores are too high.
const BUSY: f64 = 0.1;
const BUSY_WARNING: &str = ": too many to judge by, repeat this line on a quiet machine";

/// One workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Line {
    /// Price of a fork: fib without cutoff, 1 and 2 workers
    Fib,
    /// Sum of a binary tree: 1,023, 100,000 and 16.7 M nodes, 2 workers
    Tree,
    /// Balance: uneven and skewed loops over 1 M items, 2 workers
    Loops,
    /// The deque alone: push and pop, steal, one owner with one thief
    Deque,
    /// A join after 10 ms of idleness, inside and from outside
    Cold,
    /// Parallel loops in parallel loops, and the threads they take
    Nested,
    /// Scopes with 100,000 spawns, and install from outside
    Spawn,
    /// Parallel iterators: 24 workloads at three sizes, uneven loops, memory, 2 workers
    Iters,
    /// Short loops, long items, pauses, sequential sources: against the plain loop and rayon, 2 workers
    Everyday,
    /// Parallel sorts, also against the standard library's, 2 workers
    Sorts,
    /// Async tasks: spawn, turns, channels, a million at once, wake-ups, memory, 2 workers
    Tasks,
    /// Timers: price and lateness, 2 workers
    Timers,
    /// Tasks and timers beside tasks that block their workers
    Blocked,
    /// TCP echo, and 10,000 silent connections; servers of 2 workers
    Echo,
    /// HTTP with hyper: greetings, and greetings beside requests that compute; servers of 2 workers
    Http,
    /// Latency of sockets, timers, wakes and spawns while all workers compute, 2 workers
    Beside,
    /// Ticks: lateness alone, uneven, beside a loop and behind a stuck one, and CPU time, 2 workers
    Ticks,
    /// CPU time of hardly any load: a few timers, tasks or jobs a second, 2 workers
    Little,
    /// Price of a recorded event, and of spawns and polls that are recorded, 1 worker
    Recorded,
    /// A pool whose number of running threads changes in the middle of a loop and of fib, 2 workers
    #[cfg(feature = "heist")]
    Resize,
    /// CPU time and wake-ups of an idle pool
    Idle,
}

impl Line {
    fn run(self, plan: &mut Plan) -> Vec<Table> {
        match self {
            Line::Fib => fib::line(plan),
            Line::Tree => tree::line(plan),
            Line::Loops => loops::line(plan),
            Line::Deque => deque::line(plan),
            Line::Cold => cold::line(plan),
            Line::Nested => nested::line(plan),
            Line::Spawn => spawn::line(plan),
            Line::Iters => iters::line(plan),
            Line::Everyday => everyday::line(plan),
            Line::Sorts => iters::sorts::line(plan),
            Line::Tasks => tasks::line(plan),
            Line::Timers => tasks::timers::line(plan),
            Line::Blocked => tasks::blocked::line(plan),
            Line::Echo => tasks::echo::line(plan),
            Line::Http => tasks::http::line(plan),
            Line::Beside => beside::line(plan),
            Line::Ticks => ticks::line(plan),
            Line::Little => little::line(plan),
            Line::Recorded => recorded::line(plan),
            #[cfg(feature = "heist")]
            Line::Resize => resize::line(plan),
            Line::Idle => idle::line(plan),
        }
    }
}

pub fn list() {
    for line in Line::value_variants() {
        let value = line.to_possible_value().expect("no line is hidden");
        println!("{:8} {}", value.get_name(), value.get_help().expect("every line has a doc comment"));
    }
    println!("{:8} Instructions per fork by callgrind: bench/instructions.sh", "-");
    println!("{:8} What a program costs to build: bench/compile/run.py", "-");
}

pub fn run(args: &Args) -> ExitCode {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("heist-bench, {cores} cores, seed {seed}{}", if args.quick { ", quick" } else { "" });
    if cores < 2 {
        println!("warning: lines with 2 workers mean little on one core");
    }
    // Created first, so that a bad path fails before minutes of measuring.
    let json = match args.json.as_ref().map(|path| (path, File::create(path))) {
        None => None,
        Some((_, Ok(file))) => Some(file),
        Some((path, Err(error))) => {
            eprintln!("cannot write {}: {error}", path.display());
            return ExitCode::from(2);
        }
    };

    let mut plan = Plan {
        quick: args.quick,
        rounds: args.rounds,
        rows: args.row.clone(),
        rng: fastrand::Rng::with_seed(seed),
    };
    let mut report = Report { seed, quick: args.quick, tables: Vec::new() };
    let start = Instant::now();
    for line in Line::value_variants() {
        if args.only.is_empty() || args.only.contains(line) {
            let watch = Watch::start();
            let tables = line.run(&mut plan);
            let others = watch.cores_used_by_others();
            for mut table in tables {
                table.cores_used_by_others = others;
                table.print();
                report.tables.push(table);
            }
            println!(
                "  meanwhile others used {others:.2} cores{}",
                if others > BUSY { BUSY_WARNING } else { "" }
            );
        }
    }
    let all_met = report.print_verdict();
    println!("took {:.0} s", start.elapsed().as_secs_f64());

    if let Some(file) = json
        && let Err(error) = serde_json::to_writer_pretty(BufWriter::new(file), &report)
    {
        eprintln!("cannot write the JSON report: {error}");
        return ExitCode::from(2);
    }
    if args.strict && !all_met { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
