//! The `heist` command: something to look at.

mod demo;
mod doctor;
mod json;
mod live;
mod profile;
mod trace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "heist", version, about = "A work-stealing runtime, to be seen at work")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// A tour in under a minute: uneven work, one spawner, recursion, tasks that block, ticks; each with a timeline
    Demo(demo::Arguments),
    /// How many workers a pool would have here and why, and what on this machine slows it down
    #[command(after_help = doctor::EXIT_CODES)]
    Doctor(doctor::Arguments),
    /// A page in the browser that draws what a program's pools do; with --demo, four workers that steal from each other
    #[command(after_help = live::EXAMPLES)]
    Live(live::Arguments),
    /// What happened in a recorded run, or the recording in another form
    #[command(after_help = trace::EXAMPLES)]
    Trace(trace::Arguments),
    /// How parallel a program is that uses heist, and how fast it would be with more workers
    #[command(after_help = profile::MORE)]
    Profile(profile::Arguments),
}

fn main() -> ExitCode {
    let Arguments { command } = Arguments::parse();
    let mut out = std::io::stdout().lock();
    let (outcome, failed) = match command {
        Command::Demo(arguments) => {
            (demo::run(&arguments, &mut out).map(|()| ExitCode::SUCCESS), ExitCode::FAILURE)
        }
        Command::Live(arguments) => {
            (live::run(&arguments, &mut out).map(|()| ExitCode::SUCCESS), ExitCode::FAILURE)
        }
        Command::Trace(arguments) => {
            (trace::run(&arguments, &mut out).map(|()| ExitCode::SUCCESS), ExitCode::FAILURE)
        }
        Command::Doctor(arguments) => (doctor::run(&arguments, &mut out), ExitCode::from(doctor::FAILED)),
        Command::Profile(arguments) => (profile::run(&arguments, &mut out), ExitCode::from(profile::FAILED)),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("heist: {error}");
        failed
    })
}
