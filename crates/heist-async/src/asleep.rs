//! "All tasks are asleep": what `block_on` says, if asked to, when it waits in a pool in which nothing can happen any more.
//!
//! It only reports. A waker may be in the hands of a thread that heist knows nothing of, and then the program is fine.

use crate::offload;
use crate::task::{self, State};
use heist_pool::pool::Pool;
use heist_pool::signal::Awaited;
use heist_sync::Parker;
use std::fmt::Write;
use std::sync::OnceLock;
use std::time::Duration;

/// How long nothing must have been possible.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether `HEIST_DEADLOCK=report` is set.
fn is_wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| match std::env::var_os("HEIST_DEADLOCK") {
        None => false,
        Some(value) if value == "report" => true,
        Some(value) if value.is_empty() || value == "off" => false,
        Some(value) => {
            eprintln!("heist: HEIST_DEADLOCK={value:?} means nothing; the values are \"report\" and \"off\"");
            false
        }
    })
}

/// Waits as [`heist_pool::pool::wait_outside`] does, and reports once if the pool has fallen asleep meanwhile.
pub(crate) fn wait_outside(target: &impl Awaited, parker: &Parker, pool: Option<&Pool>) {
    let Some(pool) = pool.filter(|_| is_wanted()) else {
        return heist_pool::pool::wait_outside(target, parker);
    };
    let mut was_quiet = false;
    // LIVENESS: as there.
    while target.announce_wait() {
        if parker.park_timeout(PATIENCE) {
            was_quiet = false;
            continue;
        }
        let is_quiet = pool.is_quiescent() && offload::busy_threads() == 0;
        if is_quiet && was_quiet {
            eprint!("{}", report(pool));
            return heist_pool::pool::wait_outside(target, parker);
        }
        was_quiet = is_quiet;
    }
}

fn report(pool: &Pool) -> String {
    let tasks = task::dump_of(pool);
    let mut text = String::from(
        "heist: all tasks are asleep: block_on waits, nothing is queued, no timer is set, no socket is registered and no \
         blocking call runs\n",
    );
    let mut asleep = 0;
    for info in tasks.iter().filter(|info| info.state() != State::Done) {
        let _ = writeln!(text, "  {info}");
        asleep += 1;
    }
    let leaked = tasks.iter().filter(|info| info.state() == State::Leaked).count();
    let _ = writeln!(
        text,
        "  {asleep} tasks, {leaked} of them without a waker; a waker that a thread of the program's own holds could still help"
    );
    text
}
