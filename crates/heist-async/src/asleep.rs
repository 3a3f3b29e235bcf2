//! "All tasks are asleep": what `block_on` says, if asked to, when it waits and nothing can happen any more in any pool.
//!
//! It only reports. A waker may be in the hands of a thread that heist knows nothing of, and then the program is fine.

use crate::offload;
use crate::task::{self, State};
use heist_pool::raw::signal::Awaited;
use heist_sync::Parker;
use heist_sync::atomic::{AtomicUsize, Ordering};
use heist_sync::process::PerProcess;
use std::fmt::Write;
use std::panic::Location;
use std::sync::OnceLock;
use std::time::Duration;

/// How long nothing must have been possible.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether `HEIST_DEADLOCK=report` is set.
fn is_wanted() -> bool {
    static WANTED: PerProcess<OnceLock<bool>> = PerProcess::new(OnceLock::new(), OnceLock::new);
    *WANTED.get().get_or_init(|| match std::env::var_os("HEIST_DEADLOCK") {
        None => false,
        Some(value) if value == "report" => true,
        Some(value) if value.is_empty() || value == "off" => false,
        Some(value) => {
            heist_sync::warn(format_args!(
                "HEIST_DEADLOCK={value:?} means nothing; the values are \"report\" and \"off\""
            ));
            false
        }
    })
}

/// Threads inside of a poll of a future that they block on, those of pinned tasks among them.
static POLLING: PerProcess<AtomicUsize> = PerProcess::new(AtomicUsize::new(0), || AtomicUsize::new(0));

/// As long as it lives, its thread polls. Nobody counts unless somebody will ask.
pub(crate) struct Polling(Option<&'static AtomicUsize>);

impl Polling {
    pub fn new() -> Self {
        let polling = is_wanted().then(|| POLLING.get());
        if let Some(polling) = polling {
            polling.fetch_add(1, Ordering::Relaxed);
        }
        Self(polling)
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        if let Some(polling) = self.0 {
            polling.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Whether nothing can happen by itself in the whole process, as far as we know.
fn is_quiet() -> bool {
    POLLING.get().load(Ordering::Relaxed) == 0
        && offload::busy_threads() == 0
        && heist_pool::raw::global::all().iter().all(|pool| pool.is_quiescent())
}

/// Waits as the pool's [`wait_outside`](heist_pool::raw::pool::wait_outside) does, and reports once if everything has fallen asleep meanwhile.
pub(crate) fn wait_outside(target: &impl Awaited, parker: &Parker) {
    if !is_wanted() {
        return heist_pool::raw::pool::wait_outside(target, parker);
    }
    let mut was_quiet = false;
    // LIVENESS: as there.
    while target.announce_wait() {
        if parker.park_timeout(PATIENCE) {
            was_quiet = false;
            continue;
        }
        let is_quiet = is_quiet();
        if is_quiet && was_quiet {
            heist_sync::warn(format_args!("{}", report()));
            return heist_pool::raw::pool::wait_outside(target, parker);
        }
        was_quiet = is_quiet;
    }
}

/// A detached task waits, and nobody has a waker of it any more: it is about to be dropped.
#[cold]
pub(crate) fn leaked(id: task::Id, name: Option<&str>, site: &Location<'_>) {
    if is_wanted() {
        let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
        heist_sync::warn(format_args!(
            "task {id} leaked, spawned at {site}{name}: it waits, its last waker was dropped and so was its handle, so \
             it can never run again; its future is dropped"
        ));
    }
}

fn report() -> String {
    let tasks = task::dump();
    let mut text = String::from(
        "all tasks are asleep: block_on waits, nothing is queued, no timer is set, no socket is registered and no \
         blocking call runs\n",
    );
    let mut asleep = 0;
    for info in tasks.iter().filter(|info| info.state() != State::Done) {
        let _ = writeln!(text, "  {info}");
        asleep += 1;
    }
    let leaked = tasks.iter().filter(|info| info.state() == State::Leaked).count();
    let _ = write!(
        text,
        "  {asleep} tasks, {leaked} of them without a waker; a waker that a thread of the program's own holds could still help"
    );
    text
}
