//! Ends the process, naming the test, if the test hangs.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Seconds before a test counts as hung: many times what any takes on a machine that is busy with other things, too. `HEIST_WATCHDOG_S` gives
/// more, for a debugger or a slow machine.
const LIMIT_S: u64 = 180;

/// Watches until it is dropped.
#[must_use]
pub struct Watchdog {
    _end: Sender<()>,
}

impl Watchdog {
    /// Named after the function that `of` is written in.
    pub fn new<F>(_of: F) -> Self {
        let name = std::any::type_name::<F>().trim_end_matches("::{{closure}}");
        let limit = std::env::var("HEIST_WATCHDOG_S").ok().and_then(|s| s.parse().ok()).unwrap_or(LIMIT_S);
        let (end, ended) = channel();
        std::thread::Builder::new()
            .name("watchdog".into())
            .spawn(move || bark_after(limit, name, &ended))
            .expect("a thread for the watchdog");
        Self { _end: end }
    }
}

fn bark_after(limit_s: u64, name: &str, ended: &Receiver<()>) {
    if ended.recv_timeout(Duration::from_secs(limit_s)) == Err(RecvTimeoutError::Timeout) {
        // Not by `eprintln!`: the test harness captures that, and loses it when the process ends.
        let _ = writeln!(std::io::stderr(), "watchdog: {name} has not ended after {limit_s} s");
        std::process::abort();
    }
}

/// Watches the rest of the calling function.
macro_rules! watch {
    () => {
        $crate::rig::watchdog::Watchdog::new(|| {})
    };
}
pub(crate) use watch;
