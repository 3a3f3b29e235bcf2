//! The `heist` command: something to look at.

mod demo;

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
    /// Uneven work by static split and by stealing, a recursive sum with the speed-up reached, and how late ticks are
    Demo(demo::Arguments),
}

fn main() -> ExitCode {
    let Arguments { command } = Arguments::parse();
    let outcome = match command {
        Command::Demo(arguments) => demo::run(&arguments, &mut std::io::stdout().lock()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("heist: {error}");
            ExitCode::FAILURE
        }
    }
}
