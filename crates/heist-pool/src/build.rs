//! How many threads a pool gets, and starting them.

use crate::places::Pin;
use crate::pool::{Config, MOST_INDICES, Pool};
use crate::threads::ThreadStart;
use heist_os::limits::Decision;
use heist_sync::StdArc as Arc;
use std::io;
// Not a part of any protocol, so not for the checkers, whose atomics cannot be static.
use heist_sync::std_atomic::{AtomicBool, Ordering};

/// Why a pool could not be made.
#[derive(Debug)]
pub enum BuildError {
    /// The calling thread was to join, and belongs to a pool already.
    CurrentThreadInPool,
    /// A value that cannot be had; the message names it.
    BadValue(String),
    /// Not one thread could be started, or somebody else was to start them and did not.
    Io(io::Error),
}

impl Config {
    /// Makes the pool, with as many threads as `parallelism` asks for, or the environment if that is 0. `start` starts each of them;
    /// the pool's own way is [`ThreadStart::spawn`].
    pub fn build(
        mut self,
        mut start: impl FnMut(ThreadStart, Option<String>) -> io::Result<()>,
    ) -> Result<Arc<Pool>, BuildError> {
        let asked = self.parallelism;
        let decision = decide(asked)?;
        let (active, wanted) = self.permits(asked, decision.workers)?;
        if self.max_threads != 0 && self.max_threads < wanted {
            let by = if active < wanted { "max_num_threads" } else { "num_threads" };
            return Err(BuildError::BadValue(format!(
                "max_threads({}) is less than the {wanted} threads of the pool; raise it or lower {}",
                self.max_threads,
                decision.variable().filter(|_| active == wanted).unwrap_or(by)
            )));
        }
        self.parallelism = wanted;
        self.check_rescue(asked == active)?;
        self.check_pin()?;
        self.check_clock()?;
        crate::stall::check(self.stall_after)?;
        crate::process::check_threads().map_err(|why| BuildError::BadValue(why.into()))?;
        let pool = Pool::new(self);
        let unfinished = Unfinished(&pool);
        let first = usize::from(pool.config().use_current_thread);
        if first == 1 && !pool.threads().adopt_current_thread(&pool, 0) {
            return Err(BuildError::CurrentThreadInPool);
        }
        // All places before the first thread: what its start handler spawns must not find an index without a thread.
        let mut starts = Vec::new();
        // Where no thread can be started later, all of them are now, and those without an active permit sleep.
        let started = if pool.config().is_bound() { wanted } else { active };
        for index in first..started {
            starts.push(ThreadStart::first(&pool, index).map_err(BuildError::Io)?);
        }
        if active < wanted {
            pool.set_active(active);
        }
        for thread in starts {
            let (index, name) = (thread.index(), thread.name());
            match start(thread, name) {
                Ok(()) => {}
                Err(error)
                    if !pool.config().foreign_threads && error.kind() == io::ErrorKind::InvalidInput =>
                {
                    return Err(BuildError::BadValue(error.to_string()));
                }
                Err(error) if index == 0 || pool.config().foreign_threads => {
                    return Err(BuildError::Io(error));
                }
                Err(error) => {
                    heist_sync::warn(format_args!(
                        "only {index} of {started} threads could be started ({error}); the pool goes on with those. Raise the \
                         limit on threads (ulimit -u, pids.max) or ask for fewer"
                    ));
                    pool.permits().shrink_to(index);
                    break;
                }
            }
        }
        if !pool.config().is_bound() {
            crate::monitor::start();
        }
        if pool.config().follow_limits {
            pool.permits().follower().start(&pool).map_err(BuildError::Io)?;
        }
        crate::schedtrace::start();
        crate::recorder::start_from_environment();
        if !pool.config().is_hidden {
            crate::sample::start();
        }
        crate::stall::start(pool.config().stall_after);
        crate::profile::start();
        std::mem::forget(unfinished);
        Ok(pool)
    }
}

/// How many threads a pool is to have.
fn decide(asked: usize) -> Result<Decision, BuildError> {
    let decision = Decision::for_pool(asked).map_err(|error| BuildError::BadValue(error.to_string()))?;
    if decision.workers > MOST_INDICES {
        let asked = match decision.variable() {
            Some(variable) => format!("{variable}={}", decision.workers),
            None => format!("num_threads({})", decision.workers),
        };
        return Err(BuildError::BadValue(format!(
            "{asked} is more than a pool can have, which is {MOST_INDICES}; ask for fewer threads"
        )));
    }
    Ok(decision)
}

impl Config {
    /// How many permits are to be active at first, and how many there are to be. The program asks for `asked`, and `decided` are to be had; if
    /// it does not say, it has no more than its most.
    fn permits(&self, asked: usize, decided: usize) -> Result<(usize, usize), BuildError> {
        match self.max_parallelism {
            0 => Ok((decided, decided)),
            // Also where the environment lowers what was asked for: the program is wrong everywhere, or nowhere.
            most if most < asked => Err(BuildError::BadValue(format!(
                "max_num_threads({most}) is less than the {asked} threads that the pool starts with; raise it or lower num_threads"
            ))),
            most if most > MOST_INDICES => Err(BuildError::BadValue(format!(
                "max_num_threads({most}) is more than a pool can have, which is {MOST_INDICES}; ask for fewer threads"
            ))),
            most => Ok((decided.min(most), most)),
        }
    }

    /// Rescue needs spare threads, and CPU clocks of threads. If the program asks for it and rules it out, that is an error. If the
    /// environment or the machine has a part in it, the program goes on, and a warning says what has no effect. `is_exact`: the number
    /// of threads is what the program asked for.
    fn check_rescue(&self, is_exact: bool) -> Result<(), BuildError> {
        if !self.rescues() {
            return Ok(());
        }
        let (needs, why, remedy, is_programs) = if self.os_hints == Some(false) {
            (
                "CPU clocks of threads",
                "os_hints(false) turns them off".into(),
                "leave one of the two out",
                true,
            )
        } else if self.foreign_threads {
            let why = "a pool with spawn_handler or build_scoped cannot start any".into();
            ("spare threads", why, "leave one of the two out", true)
        } else if self.max_threads != 0 && self.max_threads <= self.parallelism {
            let (most, n) = (self.max_threads, self.parallelism);
            let why = format!("max_threads({most}) leaves none beside the {n} that run at once");
            ("spare threads", why, "raise max_threads or leave rescue out", is_exact)
        } else if self.is_bound() {
            let why = "a pool of the calling thread alone (use_current_thread, one thread) has none".into();
            ("spare threads", why, "raise num_threads or leave rescue out", is_exact)
        } else if heist_os::system(self.os_hints).thread_number().is_none() {
            let why = "HEIST_OS_HINTS=0, or this system, has none".into();
            (
                "CPU clocks of threads",
                why,
                "unset that variable, or wrap what blocks in heist::blocking",
                false,
            )
        } else {
            return Ok(());
        };
        let is_asked = self.rescue_blocked == Some(true);
        let asked = if is_asked { "rescue_blocked(true)" } else { "HEIST_RESCUE" };
        if is_asked && is_programs {
            return Err(BuildError::BadValue(format!("{asked} needs {needs}, and {why}; {remedy}")));
        }
        static HAS_WARNED: AtomicBool = AtomicBool::new(false);
        if !HAS_WARNED.swap(true, Ordering::Relaxed) {
            heist_sync::warn(format_args!(
                "{asked} has no effect on a pool: it needs {needs}, and {why}; {remedy}"
            ));
        }
        Ok(())
    }
}

impl Config {
    /// Keeping threads on their nodes needs the system's calls for it. As for rescue: an error if the program rules them out, and a warning
    /// if that is not the program's doing. A directory for tests must be one.
    fn check_pin(&self) -> Result<(), BuildError> {
        if let Err(error) = heist_os::topology::check_variable() {
            return Err(BuildError::BadValue(error.to_string()));
        }
        if self.pin == Pin::None {
            return Ok(());
        }
        if self.os_hints == Some(false) {
            return Err(BuildError::BadValue(
                "pin(Pin::Node) needs CPU masks of threads, and os_hints(false) turns them off; leave one of the two out".into(),
            ));
        }
        static HAS_WARNED: AtomicBool = AtomicBool::new(false);
        let is_known = heist_os::system(self.os_hints).mask(None).is_some();
        if !is_known && !HAS_WARNED.swap(true, Ordering::Relaxed) {
            heist_sync::warn(format_args!(
                "pin(Pin::Node) has no effect on a pool: it needs CPU masks of threads, and HEIST_OS_HINTS=0, or this system, has none; \
                 unset that variable, or leave pin out"
            ));
        }
        Ok(())
    }
}

impl Config {
    /// A clock that is moved by hand waits until all threads of its pools sleep, and the calling thread does so only now and then.
    fn check_clock(&self) -> Result<(), BuildError> {
        match self.clock.is_some() && self.use_current_thread {
            true => Err(BuildError::BadValue(
                "clock(..) waits until all threads of the pool sleep, and use_current_thread() adds one that runs the program; leave one of \
                 the two out"
                    .into(),
            )),
            false => Ok(()),
        }
    }
}

/// A pool that is closed unless its build gets to the end, by an error or by a panic of the user's closures.
struct Unfinished<'a>(&'a Pool);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}
