//! Threads for calls that block: started when one is needed and none is free, gone after ten seconds without work.
//!
//! They are not the pool's: a blocking call must start at once, however busy the workers are, and while it lasts it needs
//! neither an index nor a queue.

use heist_sync::process::PerProcess;
use heist_sync::{Condvar, Mutex, lock, thread};
use std::collections::VecDeque;
use std::io;
use std::sync::PoisonError;
use std::time::Duration;

/// As many as tokio starts. Beyond that, calls wait for each other.
const MOST: usize = 512;
const KEPT: Duration = Duration::from_secs(10);

type Call = Box<dyn FnOnce() + Send>;

struct Threads {
    state: Mutex<State>,
    news: Condvar,
}

struct State {
    calls: VecDeque<Call>,
    threads: usize,
    /// Threads that wait for a call. Each of them takes one of those that are queued.
    free: usize,
}

static THREADS: PerProcess<Threads> = PerProcess::new(Threads::new(), Threads::new);

impl Threads {
    const fn new() -> Self {
        Self {
            state: Mutex::new(State { calls: VecDeque::new(), threads: 0, free: 0 }),
            news: Condvar::new(),
        }
    }
}

/// How many of these threads there are now.
pub(super) fn count() -> usize {
    lock(&THREADS.get().state).threads
}

/// How many calls run or wait for a thread now.
pub(super) fn busy() -> usize {
    let state = lock(&THREADS.get().state);
    state.threads - state.free + state.calls.len()
}

/// Runs `call`, which must not unwind, on one of the threads.
///
/// # Errors
/// If there is no such thread and none can be started; `call` is given back.
pub(super) fn run(call: Call) -> Result<(), (Call, io::Error)> {
    let all = THREADS.get();
    let mut state = lock(&all.state);
    state.calls.push_back(call);
    if state.calls.len() <= state.free {
        drop(state);
        all.news.notify_one();
        return Ok(());
    }
    if state.threads == MOST {
        // LIVENESS: the first thread that ends its call takes it.
        return Ok(());
    }
    state.threads += 1;
    drop(state);
    let Err(error) = thread::Builder::new().name("heist-blocking".into()).spawn(work) else { return Ok(()) };
    let mut state = lock(&all.state);
    state.threads -= 1;
    if state.threads > 0 {
        // LIVENESS: as above.
        return Ok(());
    }
    match state.calls.pop_back() {
        Some(call) => Err((call, error)),
        // A thread that was still there has taken it.
        None => Ok(()),
    }
}

fn work() {
    let all = THREADS.get();
    let mut state = lock(&all.state);
    loop {
        while let Some(call) = state.calls.pop_front() {
            drop(state);
            call();
            state = lock(&all.state);
        }
        state.free += 1;
        // LIVENESS: a call is queued under the lock; then a free thread is notified, or a new one started.
        let (woken, waited) = all.news.wait_timeout(state, KEPT).unwrap_or_else(PoisonError::into_inner);
        state = woken;
        state.free -= 1;
        if state.calls.is_empty() && waited.timed_out() {
            state.threads -= 1;
            return;
        }
    }
}
