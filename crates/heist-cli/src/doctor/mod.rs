//! How many workers a pool would have here, why, and what hurts.

mod facts;
mod json;
mod noise;
mod text;
mod warnings;

use facts::Facts;
use std::error::Error;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The exit codes, as the help shows them.
pub const EXIT_CODES: &str =
    "Exit code: 0 if nothing is wrong, 1 if there are warnings, 2 if the command itself failed.";
/// There is something to warn of.
const WARNED: u8 = 1;
/// The command could not do what was asked.
pub const FAILED: u8 = 2;

/// Plain arguments, as given.
#[derive(clap::Args)]
pub struct Arguments {
    /// Write one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Do not compute for a second to see whether others use the CPUs
    #[arg(long)]
    skip_noise: bool,
    /// As for a program that asks for so many workers; 0 as for one that does not say
    #[arg(long, value_name = "N", default_value_t = 0)]
    workers: usize,
    /// Read /proc and /sys below this directory
    #[arg(long, value_name = "DIR", hide = true)]
    root: Option<PathBuf>,
}

/// Looks at everything and tells about it.
pub fn run(arguments: &Arguments, out: &mut impl Write) -> Result<ExitCode, Box<dyn Error>> {
    let facts = Facts::gather(arguments.workers, arguments.root.as_deref(), !arguments.skip_noise)?;
    let warnings = warnings::of(&facts);
    if arguments.json {
        json::write(&facts, &warnings, out)?;
    } else {
        let no_color = std::env::var_os("NO_COLOR");
        let has_colours = std::io::stdout().is_terminal() && no_color.is_none_or(|value| value.is_empty());
        text::write(&facts, &warnings, has_colours, out)?;
    }
    out.flush()?;
    Ok(if warnings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(WARNED) })
}
