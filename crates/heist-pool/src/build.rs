//! How many threads a pool gets, and starting them.

use crate::pool::{Config, MOST_INDICES, Pool};
use crate::threads::{ThreadStart, guest};
use heist_sync::StdArc as Arc;
use std::io;

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

/// Starts the threads of a new pool.
pub trait Starter {
    /// Starts a thread that calls [`ThreadStart::run`].
    fn start(&mut self, start: ThreadStart, name: Option<String>) -> io::Result<()>;
    /// The pool's own threads: it may start more, and goes on with fewer.
    const IS_OWN: bool;
}

/// The pool starts its threads itself.
#[derive(Debug)]
pub struct OwnThreads;

impl Starter for OwnThreads {
    fn start(&mut self, start: ThreadStart, name: Option<String>) -> io::Result<()> {
        start.spawn(name)
    }
    const IS_OWN: bool = true;
}

impl Config {
    /// Makes the pool. `num_threads`: what the program asks for, 0 if it does not care.
    pub fn build<S: Starter>(
        mut self,
        num_threads: usize,
        use_current_thread: bool,
        starter: &mut S,
    ) -> Result<Arc<Pool>, BuildError> {
        let wanted = threads_wanted(num_threads)?;
        if self.max_threads != 0 && self.max_threads < wanted {
            return Err(BuildError::BadValue(format!(
                "max_threads({}) is less than the {wanted} threads of the pool; raise it or lower num_threads",
                self.max_threads
            )));
        }
        self.parallelism = wanted;
        self.foreign_threads = !S::IS_OWN;
        self.use_current_thread = use_current_thread;
        let pool = Unfinished(Some(Pool::new(self)));
        let mut first = 0;
        if use_current_thread {
            if !guest::adopt_current_thread(&pool, 0) {
                return Err(BuildError::CurrentThreadInPool);
            }
            first = 1;
        }
        // All places before the first thread: what its start handler spawns must not find an index without a thread.
        let mut starts = Vec::new();
        for index in first..wanted {
            starts.push(ThreadStart::first(&pool, index).map_err(BuildError::Io)?);
        }
        for start in starts {
            let index = start.index();
            let name = start.name();
            match starter.start(start, name) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    return Err(BuildError::BadValue(error.to_string()));
                }
                Err(error) if index == 0 || !S::IS_OWN => return Err(BuildError::Io(error)),
                Err(error) => {
                    heist_sync::warn(format_args!(
                        "only {index} of {wanted} threads could be started ({error}); the pool goes on with those. Raise the \
                         limit on threads (ulimit -u, pids.max) or ask for fewer"
                    ));
                    pool.shrink_to(index);
                    break;
                }
            }
        }
        if !pool.config().is_bound() {
            crate::monitor::start();
        }
        Ok(pool.finished())
    }
}

fn threads_wanted(asked: usize) -> Result<usize, BuildError> {
    let env = env_threads("HEIST_NUM_THREADS")?;
    let wanted = match (asked, env) {
        (0, Some(env)) => env,
        (0, None) => rayon_env().unwrap_or_else(available),
        // The environment can always lower what the program asks for, never raise it.
        (asked, Some(env)) => asked.min(env),
        (asked, None) => asked,
    };
    if wanted > MOST_INDICES {
        return Err(BuildError::BadValue(format!(
            "num_threads({wanted}) is more than a pool can have, which is {MOST_INDICES}"
        )));
    }
    Ok(wanted)
}

/// A pool that is closed unless its build gets to the end, by an error or by a panic of the user's closures.
struct Unfinished(Option<Arc<Pool>>);

impl Unfinished {
    fn finished(mut self) -> Arc<Pool> {
        self.0.take().expect("finished once")
    }
}

impl std::ops::Deref for Unfinished {
    type Target = Arc<Pool>;
    fn deref(&self) -> &Arc<Pool> {
        self.0.as_ref().expect("not finished")
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(pool) = &self.0 {
            pool.close();
        }
    }
}

/// A count from heist's own variable: 0 or nothing means unset, anything else must be a number.
fn env_threads(name: &str) -> Result<Option<usize>, BuildError> {
    let Some(value) = std::env::var_os(name) else { return Ok(None) };
    let text = value.to_string_lossy();
    match text.trim() {
        "" | "0" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            BuildError::BadValue(format!("{name}={text:?} is not a number of threads; unset it or give one"))
        }),
    }
}

/// rayon's variables, as it reads them: what is not a positive number does not count.
fn rayon_env() -> Option<usize> {
    ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"]
        .iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
        .filter(|&n| n > 0)
}

/// Affinity and cgroup quota are in it.
fn available() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
