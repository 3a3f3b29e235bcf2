//! heist against its peers: one process, in alternation, a bar and a verdict for each line.
//!
//! `README.md` says what each line measures and how to read it.

#![cfg_attr(not(feature = "heist"), allow(dead_code, unused_mut, reason = "only heist has bars to judge"))]

mod args;
mod beside;
mod churn;
mod cold;
mod deque;
mod everyday;
mod fib;
mod idle;
mod iters;
mod lines;
mod little;
#[cfg(feature = "heist")]
mod looks;
mod loops;
mod machine;
mod nested;
mod peers;
mod process;
mod race;
mod recorded;
mod report;
#[cfg(feature = "heist")]
mod resize;
mod spawn;
mod tasks;
mod ticks;
mod tree;
mod visit;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;

fn main() -> ExitCode {
    let args = Args::parse();
    match args.command {
        Some(Command::FibOnce { backend, n }) => fib::once(backend, n),
        #[cfg(feature = "heist")]
        Some(Command::LookOnce { workers, times }) => looks::once(workers, times),
        Some(Command::Idle { backend }) => idle::alone(backend),
        Some(Command::Threads { backend, workers }) => nested::threads::alone(backend, workers),
        Some(Command::Memory { backend, work, items }) => iters::memory::alone(backend, work, items),
        Some(Command::Parked { runtime, tasks }) => tasks::parked::alone(runtime, tasks),
        Some(Command::Serve { service, runtime }) => tasks::serve::alone(service, runtime),
        Some(Command::Switches { backend, n }) => fib::switches(backend, n),
        None if args.list => lines::list(),
        None => return lines::run(&args),
    }
    ExitCode::SUCCESS
}
