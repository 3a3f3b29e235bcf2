//! `heist trace FILE`: what is in a recorded trace, and the same in another form.

mod items;
mod replay;
mod summary;

use crate::arguments::{self, file, flag};
use crate::json;
use clap::{Arg, ArgMatches, Command, value_parser};
use heist::trace::Trace;
use replay::Replay;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use summary::Summary;

/// Shown below the help.
const EXAMPLES: &str = "Examples:
  HEIST_TRACE=run.json ./program          record a run
  heist trace run.json                    what happened in it
  heist trace run.json --json             the same, for a script
  heist trace part.heist --convert a.json a binary trace, for ui.perfetto.dev
  heist trace run.json --convert a.html   the last 30 s as one page that needs no server, drawn as `heist live` draws them

Exit codes: 0, 1 if the file cannot be read or is no trace, 2 for arguments that make no sense.";

/// The command's name.
pub const NAME: &str = "trace";

/// What it can be given.
pub fn command() -> Command {
    Command::new(NAME)
        .about("What happened in a recorded run, or the recording in another form")
        .after_help(EXAMPLES)
        .args([
            Arg::new("file")
                .value_name("FILE")
                .help("What HEIST_TRACE, a flight recorder, or a program by `write_chrome` or `write_binary` has written")
                .value_parser(value_parser!(PathBuf))
                .required(true),
            file(
                "convert",
                "Write it here instead of the summary: as Chrome trace-event JSON for ui.perfetto.dev (.json), or as a page (.html)",
            ),
            flag("json", "The summary as JSON"),
        ])
}

/// Plain arguments, as given.
pub struct Arguments {
    file: PathBuf,
    convert: Option<PathBuf>,
    json: bool,
}

impl From<&ArgMatches> for Arguments {
    fn from(given: &ArgMatches) -> Self {
        Self {
            file: arguments::given(given, "file"),
            convert: given.get_one("convert").cloned(),
            json: given.get_flag("json"),
        }
    }
}

/// What a binary trace begins with.
const MAGIC: &[u8] = b"heisttrc";

/// Converts, or sums up.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let Arguments { file, convert, json } = arguments;
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let mut input = BufReader::new(File::open(file).map_err(|error| named(&error))?);
    let is_binary = input.fill_buf().map_err(|error| named(&error))?.starts_with(MAGIC);
    if let Some(path) = convert {
        return convert_to(path, &mut input, is_binary).map_err(|error| named(&error).into());
    }
    let mut summary = Summary::default();
    if is_binary {
        let mut lines = Lines { line: Vec::new(), to: |line: &str| summary.line(line) };
        Trace::convert_binary(input, &mut lines).map_err(|error| named(&error))?;
    } else {
        read_json(&mut input, &mut |line| summary.line(line)).map_err(|error| named(&error))?;
    }
    let summary = summary.finish();
    if *json {
        writeln!(out, "{}", summary.to_json())?
    } else {
        summary.write(out, has_colours())?
    }
    Ok(())
}

fn has_colours() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Not over the file that is read, and not half: what fails leaves nothing behind.
fn convert_to(path: &Path, input: &mut dyn BufRead, is_binary: bool) -> Result<(), Box<dyn Error>> {
    if path.extension().is_some_and(|extension| extension == "html") {
        return page_of(path, input, is_binary);
    }
    if path.extension().is_none_or(|extension| extension != "json") {
        return Err(format!(
            "--convert {}: only JSON and pages can be written; let the name end with .json or .html",
            path.display()
        )
        .into());
    }
    if !is_binary {
        return Err("it is no binary trace; a JSON trace can be opened as it is, at ui.perfetto.dev".into());
    }
    let output = File::create_new(path).map_err(|error| format!("--convert {}: {error}", path.display()))?;
    Trace::convert_binary(input, BufWriter::new(output)).map_err(|error| {
        let _ = std::fs::remove_file(path);
        error.into()
    })
}

/// The page of `heist live`, with the recording inside.
fn page_of(path: &Path, input: &mut dyn BufRead, is_binary: bool) -> Result<(), Box<dyn Error>> {
    let mut replay = Replay::default();
    if is_binary {
        Trace::convert_binary(input, &mut Lines { line: Vec::new(), to: |line: &str| replay.line(line) })?;
    } else {
        read_json(input, &mut |line| replay.line(line))?;
    }
    let html = heist::live::self_contained(replay.finish());
    let mut output =
        File::create_new(path).map_err(|error| format!("--convert {}: {error}", path.display()))?;
    output.write_all(html.as_bytes()).map_err(|error| {
        let _ = std::fs::remove_file(path);
        error.into()
    })
}

/// Reads one item after another: each stands on a line of its own. The end may be missing.
fn read_json(
    input: &mut dyn BufRead,
    to: &mut dyn FnMut(&str) -> Result<(), json::Error>,
) -> Result<(), String> {
    let mut line = String::new();
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        match input.read_line(&mut line) {
            Ok(0) if number == 1 => return Err("it is empty".into()),
            Ok(0) => return Ok(()),
            Err(error) => return Err(error.to_string()),
            Ok(_) if number == 1 && line.trim() != "[" => {
                return Err(
                    "it is no trace: neither heist's binary form nor JSON that heist has written".into()
                );
            }
            // What a program that was killed has not written to its end.
            Ok(_) if !line.ends_with('\n') => {
                let _ = to(&line);
            }
            Ok(_) => to(&line).map_err(|error| format!("line {number}: {error}"))?,
        }
    }
}

/// Passes on whole lines.
struct Lines<F> {
    line: Vec<u8>,
    to: F,
}

impl<F: FnMut(&str) -> Result<(), json::Error>> Write for Lines<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::str::from_utf8(&self.line).map_err(io::Error::other)?;
                (self.to)(line).map_err(io::Error::other)?;
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
