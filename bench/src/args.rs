//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::iters::memory::Work;
use crate::lines::Line;
use crate::tasks::serve::Service;

/// Measures heist against its peers, in one process and in alternation.
#[derive(Parser)]
#[command(version, subcommand_negates_reqs = true)]
pub struct Args {
    /// Smaller inputs and fewer rounds: the whole run ends within a few minutes
    #[arg(long)]
    pub quick: bool,
    /// Run only this line (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub only: Vec<Line>,
    /// Of the lines with many rows, run only rows whose name contains this (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub row: Vec<String>,
    /// Name the lines and end
    #[arg(long)]
    pub list: bool,
    /// Write every figure to this file, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Rounds of alternation; each line has its own default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// Order of the peers in the rounds; printed at the start of a run
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Exit with code 1 if a bar is missed
    #[arg(long)]
    pub strict: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Measurements that need a process of their own.
#[derive(Subcommand)]
pub enum Command {
    /// Compute fib(N) once with one worker, to be counted by callgrind (see instructions.sh)
    FibOnce { backend: Backend, n: u32 },
    /// Look so many times for work where there is none, with one of so many workers, to be counted by callgrind (see instructions.sh)
    #[cfg(feature = "heist")]
    LookOnce { workers: usize, times: u32 },
    /// Leave a pool of 2 workers idle for 5 s: prints CPU time and voluntary switches as JSON
    Idle { backend: Pooled },
    /// Run nested loops and a burst of jobs: prints how many threads there were and ran as JSON
    Threads { backend: Pooled, workers: usize },
    /// Collect or sort so many u64 once: prints the peak memory that it took as JSON
    Memory { backend: Pooled, work: Work, items: usize },
    /// Park so many tasks: prints the resident bytes a task
    Parked { runtime: Async, tasks: usize },
    /// Serve on a free port, which is printed, until standard input ends
    Serve { service: Service, runtime: Async },
    /// Compute fib(N) with two workers: prints time, CPU time and context switches
    Switches { backend: Backend, n: u32 },
}

/// Every way of computing fib.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// No fork at all
    Serial,
    /// `rayon::join`
    Rayon,
    /// `chili::Scope::join`
    Chili,
    /// `heist::join`
    #[cfg(feature = "heist")]
    HeistJoin,
    /// `heist::Fork::join`
    #[cfg(feature = "heist")]
    HeistFork,
}

/// The peers whose pool has idle workers and waits to look at.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pooled {
    /// rayon
    Rayon,
    /// heist
    #[cfg(feature = "heist")]
    Heist,
}

impl Pooled {
    /// In the order in which they are entered.
    pub const ALL: &[Pooled] = &[
        Pooled::Rayon,
        #[cfg(feature = "heist")]
        Pooled::Heist,
    ];

    /// The word that the command line knows it by.
    pub fn word(self) -> &'static str {
        match self {
            Pooled::Rayon => "rayon",
            #[cfg(feature = "heist")]
            Pooled::Heist => "heist",
        }
    }
}

/// The runtimes for async tasks.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Async {
    /// tokio, multi-threaded
    Tokio,
    /// heist
    #[cfg(feature = "heist")]
    Heist,
}

impl Async {
    /// In the order in which they are entered.
    pub const ALL: &[Async] = &[
        Async::Tokio,
        #[cfg(feature = "heist")]
        Async::Heist,
    ];

    /// The word that the command line knows it by.
    pub fn word(self) -> &'static str {
        match self {
            Async::Tokio => "tokio",
            #[cfg(feature = "heist")]
            Async::Heist => "heist",
        }
    }
}
