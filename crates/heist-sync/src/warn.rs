//! Telling the user something on standard error.

use crate::process;
use std::fmt;
use std::io::Write;

/// Writes a line to standard error, or does without: it may be closed or full, and `eprintln!` would panic then, in the middle of
/// a wait whose frame others use.
///
/// ```
/// heist_sync::warn(format_args!("{} threads could be started", 3));
/// ```
pub fn warn(message: fmt::Arguments<'_>) {
    let line = format!("heist: {message}\n");
    if !process::is_child() {
        let _ = std::io::stderr().write_all(line.as_bytes());
    } else {
        // Past std's lock, which may be held by a thread of the parent process.
        process::write_to_stderr(line.as_bytes());
    }
}
