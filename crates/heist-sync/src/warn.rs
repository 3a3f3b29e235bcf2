//! Telling the user something on standard error.

use crate::process;
use std::fmt;

/// Writes a line to standard error, or does without: it may be closed or full, and `eprintln!` would panic then, in the middle of
/// a wait whose frame others use.
///
/// ```
/// heist_sync::warn(format_args!("{} threads could be started", 3));
/// ```
pub fn warn(message: fmt::Arguments<'_>) {
    let line = format!("heist: {message}\n");
    // Past std's lock, which may be held by a thread that hangs, or by one of the parent process.
    process::write_to_stderr(line.as_bytes());
}
