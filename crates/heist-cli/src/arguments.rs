//! Short words for the arguments of all commands.

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use std::path::PathBuf;

/// `--name`, or not.
pub fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// `--name VALUE`.
pub fn value(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// `--name FILE`.
pub fn file(name: &'static str, help: &'static str) -> Arg {
    value(name, "FILE", help).value_parser(value_parser!(PathBuf))
}

/// The value of an argument that is required or has a default.
pub fn given<T: Clone + Send + Sync + 'static>(given: &ArgMatches, name: &str) -> T {
    given.get_one::<T>(name).expect("there is always one").clone()
}
