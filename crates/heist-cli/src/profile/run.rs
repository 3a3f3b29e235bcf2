//! Runs a program so that it measures itself.

use heist::profile::Figures;
use std::error::Error;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// What became of the program.
pub enum Ended {
    /// It could not be started; what the command's exit code is then.
    NotStarted(io::Error, u8),
    /// A signal has ended it before it could write its profile, which was told; the exit code for that.
    Killed(u8),
    /// It was, and ended with this code.
    Measured(Box<Figures>, u8),
}

/// A directory that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        let dir = std::env::temp_dir().join(format!("heist-profile-{}", std::process::id()));
        std::fs::create_dir(&dir)?;
        Ok(Self(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in a temporary directory does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `command`. If it starts several processes that use heist (a shell, cargo), the one with most work counts.
pub fn measured(command: &[OsString]) -> Result<Ended, Box<dyn Error>> {
    let scratch = Scratch::new().map_err(|error| format!("no temporary directory could be made: {error}"))?;
    let (program, arguments) = command.split_first().ok_or("no program was given")?;
    let status = Command::new(program).args(arguments).env("HEIST_PROFILE", scratch.0.join("%p")).status();
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
            return Ok(Ended::NotStarted(error, code));
        }
    };
    match longest(&scratch.0)? {
        Some(figures) => Ok(Ended::Measured(Box::new(figures), code(status))),
        None if signal(status).is_some() => {
            eprintln!("heist: {}", why_nothing(&program.display().to_string(), status));
            Ok(Ended::Killed(code(status)))
        }
        None => Err(why_nothing(&program.display().to_string(), status).into()),
    }
}

fn longest(dir: &Path) -> Result<Option<Figures>, Box<dyn Error>> {
    let mut longest: Option<Figures> = None;
    for entry in std::fs::read_dir(dir)? {
        let figures: Figures = std::fs::read_to_string(entry?.path())?.parse()?;
        if longest.as_ref().is_none_or(|longest| longest.work_ns < figures.work_ns) {
            longest = Some(figures);
        }
    }
    Ok(longest)
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| signal(status).map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn why_nothing(program: &str, status: ExitStatus) -> String {
    match (signal(status), status.code()) {
        (Some(signal), _) => format!(
            "{program} was ended by signal {signal} before it could write its profile, which is written when it returns from main or calls \
             exit; nothing was measured"
        ),
        (None, Some(0)) => format!(
            "{program} has written no profile: it does not use heist, or a version without profiles, or has started no pool, or has \
             left by _exit"
        ),
        (None, code) => format!(
            "{program} has failed with exit code {} and has written no profile: it does not use heist, or had started no pool by then",
            code.map_or("unknown".into(), |code| code.to_string())
        ),
    }
}
