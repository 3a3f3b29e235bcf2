//! How many workers a pool would have here, why, and what hurts.

mod facts;
mod json;
mod noise;
mod text;
mod warnings;

use crate::arguments::{self, flag, value};
use clap::{ArgMatches, Command, value_parser};
use facts::Facts;
use std::error::Error;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The exit codes, as the help shows them.
const EXIT_CODES: &str =
    "Exit code: 0 if nothing is wrong, 1 if there are warnings, 2 if the command itself failed.";
/// There is something to warn of.
const WARNED: u8 = 1;
/// The command could not do what was asked.
pub const FAILED: u8 = 2;

/// The command's name.
pub const NAME: &str = "doctor";

/// What it can be given.
pub fn command() -> Command {
    Command::new(NAME)
        .about("How many workers a pool would have here and why, and what on this machine slows it down")
        .after_help(EXIT_CODES)
        .args([
            flag("json", "Write one JSON object instead of text"),
            flag("skip-noise", "Do not compute for a second to see whether others use the CPUs"),
            value(
                "workers",
                "N",
                "As for a program that asks for so many workers; 0 as for one that does not say",
            )
            .value_parser(value_parser!(usize))
            .default_value("0"),
            value("root", "DIR", "Read /proc and /sys below this directory")
                .value_parser(value_parser!(PathBuf))
                .hide(true),
        ])
}

/// Plain arguments, as given.
pub struct Arguments {
    json: bool,
    skip_noise: bool,
    workers: usize,
    root: Option<PathBuf>,
}

impl From<&ArgMatches> for Arguments {
    fn from(given: &ArgMatches) -> Self {
        Self {
            json: given.get_flag("json"),
            skip_noise: given.get_flag("skip-noise"),
            workers: arguments::given(given, "workers"),
            root: given.get_one("root").cloned(),
        }
    }
}

/// Looks at everything and tells about it.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<ExitCode, Box<dyn Error>> {
    let facts = Facts::gather(arguments.workers, arguments.root.as_deref(), !arguments.skip_noise)?;
    let (asked, most) = (facts.decision.workers, heist::max_num_threads());
    if asked > most {
        let by = facts.decision.variable().unwrap_or("--workers");
        return Err(
            format!("{by}={asked} is more than a pool can have, which is {most}; ask for fewer").into()
        );
    }
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
