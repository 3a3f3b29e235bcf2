//! `heist live`: how a program is looked at in the browser, and a demonstration to look at.

mod uneven;

use crate::arguments::{self, flag, value};
use clap::{ArgMatches, Command, value_parser};
use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// What to do, in short.
const EXAMPLES: &str = "Examples:
  heist live --demo                           four workers with uneven work, steered from the page
  HEIST_LIVE=127.0.0.1:7878 ./my-program      your own program, if it was built with heist's feature `live`

The address that is printed has a token in it: whoever knows it may look. Nobody can change a program from the page; only the
demonstration takes orders from it.

Exit codes: 0 if all went well, 1 if the page could not be served, 2 if the arguments are wrong";

/// The command's name.
pub const NAME: &str = "live";

/// What it can be given.
pub fn command() -> Command {
    Command::new(NAME)
        .about("A page in the browser that draws what a program's pools do; with --demo, four workers that steal from each other")
        .after_help(EXAMPLES)
        .args([
            flag(
                "demo",
                "Serve a demonstration: four workers with uneven work, started, paused and given new work from the page",
            ),
            value(
                "addr",
                "ADDRESS",
                "Where the demonstration is served: an address of this machine with a port; port 0 is any that is free",
            )
            .default_value("127.0.0.1:0")
            .requires("demo"),
            value("seconds", "SECONDS", "End after so many seconds, instead of at Ctrl-C")
                .value_parser(value_parser!(u64))
                .requires("demo"),
            value("work", "NUMBER", "Begin with the work of this number, to see the same again")
                .value_parser(value_parser!(u64))
                .default_value("1")
                .requires("demo"),
            flag("json", "Tell the address as a line of JSON, for scripts"),
        ])
}

/// Plain arguments, as given.
pub struct Arguments {
    demo: bool,
    addr: String,
    seconds: Option<u64>,
    work: u64,
    json: bool,
}

impl From<&ArgMatches> for Arguments {
    fn from(given: &ArgMatches) -> Self {
        Self {
            demo: given.get_flag("demo"),
            addr: arguments::given(given, "addr"),
            seconds: given.get_one("seconds").cloned(),
            work: arguments::given(given, "work"),
            json: given.get_flag("json"),
        }
    }
}

/// Serves the demonstration, or tells how a program is served.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    if !arguments.demo {
        return Ok(explain(arguments.json, out)?);
    }
    let demo = uneven::Uneven::start(arguments.work)?;
    let addr = &arguments.addr;
    let live = heist::live::serve_demo(addr.as_str(), Arc::clone(&demo) as Arc<dyn heist::live::demo::Demo>)
        .map_err(|error| format!("--addr {addr}: {error}"))?;
    if arguments.json {
        writeln!(
            out,
            "{{\"url\":\"{}\",\"addr\":\"{}\",\"token\":\"{}\"}}",
            live.url(),
            live.addr(),
            live.token()
        )?;
    } else {
        writeln!(out, "Open {}\n\nThe demonstration goes on until Ctrl-C.", live.url())?;
    }
    out.flush()?;
    match arguments.seconds {
        Some(seconds) => std::thread::sleep(Duration::from_secs(seconds)),
        None => loop {
            std::thread::park();
        },
    }
    Ok(())
}

fn explain(is_json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    const FEATURE: &str = "heist = { version = \\\"0.1\\\", features = [\\\"live\\\"] }";
    const VARIABLE: &str = "HEIST_LIVE=127.0.0.1:7878 ./my-program";
    if is_json {
        return writeln!(
            out,
            "{{\"feature\":\"{FEATURE}\",\"variable\":\"{VARIABLE}\",\"demo\":\"heist live --demo\"}}"
        );
    }
    writeln!(
        out,
        "The live view draws what the pools of a program do, in a browser, while they do it.

  1. Build the program with heist's feature `live`:

       {}

  2. Start it with HEIST_LIVE, and open the address that it prints:

       {VARIABLE}

     Or call heist::live::serve(\"127.0.0.1:7878\") in the program, which returns the address.

`heist live --demo` serves a demonstration to look at first.",
        FEATURE.replace('\\', "")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_to_do() {
        let mut text = Vec::new();
        explain(false, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("HEIST_LIVE=127.0.0.1:7878") && text.contains("features = [\"live\"]"),
            "{text}"
        );
        let mut json = Vec::new();
        explain(true, &mut json).unwrap();
        let told: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(told["demo"], "heist live --demo");
    }
}
