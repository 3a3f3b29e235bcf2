//! What a pool does, in under a minute.

mod blocked;
mod load;
mod spawner;
mod sum;
mod ticks;
mod uneven;

use crate::arguments::{self, file, value};
use clap::{ArgMatches, Command, value_parser};
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

/// The command's name.
pub const NAME: &str = "demo";

/// What it can be given.
pub fn command() -> Command {
    Command::new(NAME)
        .about("A tour in under a minute: uneven work, one spawner, recursion, tasks that block, ticks; each with a timeline")
        .args([
            value("workers", "WORKERS", "How many workers")
                .value_parser(value_parser!(usize))
                .default_value("4"),
            value("width", "WIDTH", "Columns of the timelines")
                .value_parser(value_parser!(usize))
                .default_value("100"),
            file("trace", "Write the trace of the stealing run here, for ui.perfetto.dev"),
            file("svg", "Draw the stealing run here, as an SVG picture"),
        ])
}

/// Plain arguments, as given.
pub struct Arguments {
    workers: usize,
    width: usize,
    trace: Option<PathBuf>,
    svg: Option<PathBuf>,
}

impl From<&ArgMatches> for Arguments {
    fn from(given: &ArgMatches) -> Self {
        Self {
            workers: arguments::given(given, "workers"),
            width: arguments::given(given, "width"),
            trace: given.get_one("trace").cloned(),
            svg: given.get_one("svg").cloned(),
        }
    }
}

/// Runs all parts and tells about them.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let Arguments { workers, width, trace, svg } = arguments;
    if *workers == 0 {
        return Err("--workers 0: a pool has at least one worker".into());
    }
    if *width < 40 {
        return Err(format!("--width {width}: a timeline needs at least 40 columns").into());
    }
    let pool = heist::ThreadPoolBuilder::new().num_threads(*workers).build()?;
    let started = pool.current_num_threads();
    if started != *workers {
        writeln!(out, "{workers} workers were asked for; there are {started}\n")?;
    }
    writeln!(out, "{}\n", load::Load::on(started).sentence(started))?;
    let stolen = uneven::show(&pool, *width, out)?;
    if let Some(path) = trace {
        let file = std::fs::File::create(path).map_err(|e| format!("--trace {}: {e}", path.display()))?;
        stolen.write_chrome(std::io::BufWriter::new(file))?;
        writeln!(out, "trace written to {}\n", path.display())?;
    }
    if let Some(path) = svg {
        let file = std::fs::File::create(path).map_err(|e| format!("--svg {}: {e}", path.display()))?;
        let title =
            format!("Uneven work on {started} workers: whoever is out of work steals from the others");
        heist::trace::Timeline::new(&stolen).write_svg(&title, std::io::BufWriter::new(file))?;
        writeln!(out, "picture written to {}\n", path.display())?;
    }
    spawner::show(&pool, *width, out)?;
    sum::show(&pool, *width, out)?;
    blocked::show(&pool, *width, out)?;
    ticks::show(&pool, *width, out)?;
    writeln!(
        out,
        "\nYour own program: HEIST_TRACE=run.json ./program, then heist trace run.json; heist live --demo; heist profile -- ./program"
    )?;
    pool.shutdown()?;
    Ok(())
}
