//! The `heist` command: something to look at.

mod arguments;
mod demo;
mod doctor;
mod json;
mod live;
mod profile;
mod trace;

use std::io;
use std::process::ExitCode;

fn command() -> clap::Command {
    clap::Command::new("heist")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A work-stealing runtime, to be seen at work")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([
            demo::command(),
            doctor::command(),
            live::command(),
            trace::command(),
            profile::command(),
        ])
}

fn main() -> ExitCode {
    let matches = command().get_matches();
    let mut out = std::io::stdout().lock();
    let (outcome, failed) = match matches.subcommand().expect("one is required") {
        (demo::NAME, given) => {
            (demo::run(&given.into(), &mut out).map(|()| ExitCode::SUCCESS), ExitCode::FAILURE)
        }
        (live::NAME, given) => {
            (live::run(&given.into(), &mut out).map(|()| ExitCode::SUCCESS), ExitCode::FAILURE)
        }
        (trace::NAME, given) => {
            (trace::run(&given.into(), &mut out).map(|()| ExitCode::SUCCESS), ExitCode::FAILURE)
        }
        (doctor::NAME, given) => (doctor::run(&given.into(), &mut out), ExitCode::from(doctor::FAILED)),
        (profile::NAME, given) => (profile::run(&given.into(), &mut out), ExitCode::from(profile::FAILED)),
        (name, _) => unreachable!("{name} is no command"),
    };
    outcome.unwrap_or_else(|error| {
        // Whoever reads the output, `head` for one, may have seen enough.
        let is_read =
            error.downcast_ref::<io::Error>().is_none_or(|error| error.kind() != io::ErrorKind::BrokenPipe);
        if is_read {
            eprintln!("heist: {error}");
        }
        failed
    })
}

#[cfg(test)]
mod tests {
    /// Defaults can be parsed, names that are asked for exist, nothing is there twice.
    #[test]
    fn all_arguments_make_sense() {
        super::command().debug_assert();
        let ask = |arguments: &[&str], read: fn(&clap::ArgMatches)| {
            let matches = super::command().try_get_matches_from(["heist"].iter().chain(arguments)).unwrap();
            read(matches.subcommand().unwrap().1);
        };
        ask(&["demo"], |given| drop(super::demo::Arguments::from(given)));
        ask(&["doctor"], |given| drop(super::doctor::Arguments::from(given)));
        ask(&["live"], |given| drop(super::live::Arguments::from(given)));
        ask(&["trace", "a"], |given| drop(super::trace::Arguments::from(given)));
        ask(&["profile", "--", "a"], |given| drop(super::profile::Arguments::from(given)));
    }
}
