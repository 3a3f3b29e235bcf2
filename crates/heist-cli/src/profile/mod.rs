//! How parallel a program is, and how fast it would be with more workers.

mod json;
mod names;
mod run;

use crate::arguments::file;
use clap::{Arg, ArgMatches, Command, value_parser};
use heist::profile::{Figures, Profile};
use run::Ended;
use std::error::Error;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the help says beside the options.
const MORE: &str = "\
Every fork, spawned job and block of a loop is measured while the program runs, so it is slower than usual; what the measuring costs is subtracted. \
The program needs no change, only to use heist. Names of forked code come from its debug information (debug = 1 in its profile is enough).

Examples:
  heist profile -- target/release/program --its arguments
  heist profile --svg speed-up.svg --json - -- target/release/program
  heist profile --read saved.profile

Exit code: that of the program, 128 and the number of the signal that ended it, 126 or 127 if it could not be started, 125 if the command itself failed.";
/// The command could not do what was asked.
pub const FAILED: u8 = 125;

/// The command's name.
pub const NAME: &str = "profile";

/// What it can be given.
pub fn command() -> Command {
    Command::new(NAME)
        .about("How parallel a program is that uses heist, and how fast it would be with more workers")
        .after_help(MORE)
        .args([
            file("svg", "Draw the speed-up by the number of workers here"),
            file("json", "Write all numbers here as one JSON object, - for the standard output"),
            file("save", "Keep what was measured here, for --read"),
            file(
                "read",
                "Show what was kept, or what a program has written with HEIST_PROFILE, instead of running one",
            )
            .conflicts_with("command"),
            Arg::new("command")
                .value_name("PROGRAM")
                .help("The program and its arguments")
                .value_parser(value_parser!(OsString))
                .last(true)
                .num_args(1..)
                .required_unless_present("read"),
        ])
}

/// Plain arguments, as given.
pub struct Arguments {
    svg: Option<PathBuf>,
    json: Option<PathBuf>,
    save: Option<PathBuf>,
    read: Option<PathBuf>,
    command: Vec<OsString>,
}

impl From<&ArgMatches> for Arguments {
    fn from(given: &ArgMatches) -> Self {
        Self {
            svg: given.get_one("svg").cloned(),
            json: given.get_one("json").cloned(),
            save: given.get_one("save").cloned(),
            read: given.get_one("read").cloned(),
            command: given.get_many("command").into_iter().flatten().cloned().collect(),
        }
    }
}

/// Runs the program, or reads a file, and tells about it on standard error: the standard output is the program's.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<ExitCode, Box<dyn Error>> {
    let (figures, code) = match &arguments.read {
        Some(file) => (read(file)?, ExitCode::SUCCESS),
        None => match run::measured(&arguments.command)? {
            Ended::NotStarted(error, code) => {
                eprintln!("heist: {}: {error}", arguments.command[0].display());
                return Ok(ExitCode::from(code));
            }
            Ended::Killed(code) => return Ok(ExitCode::from(code)),
            Ended::Measured(figures, code) => (*figures, ExitCode::from(code)),
        },
    };
    if let Some(file) = &arguments.save {
        std::fs::write(file, figures.to_string())
            .map_err(|error| format!("--save {}: {error}", file.display()))?;
    }
    let mut profile = Profile::from(figures);
    let mut names = names::Names::default();
    profile.name_sites(|site| names.of(site));
    eprint!("{profile}");
    if let Some(file) = &arguments.svg {
        let failed = |error| format!("--svg {}: {error}", file.display());
        let svg = std::fs::File::create(file).map_err(failed)?;
        profile.write_svg(std::io::BufWriter::new(svg)).map_err(failed)?;
    }
    match arguments.json.as_deref() {
        None => {}
        Some(file) if file == Path::new("-") => json::write(&profile, &mut *out)?,
        Some(file) => {
            let mut text = Vec::new();
            json::write(&profile, &mut text)?;
            std::fs::write(file, text).map_err(|error| format!("--json {}: {error}", file.display()))?;
        }
    }
    out.flush()?;
    Ok(code)
}

fn read(file: &Path) -> Result<Figures, Box<dyn Error>> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| failed(&error))?;
    Ok(text.parse().map_err(|error| failed(&error))?)
}
