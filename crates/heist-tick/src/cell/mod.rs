#![doc = include_str!("README.md")]

mod run;
pub(crate) mod schedule;

#[cfg(all(test, heist_loom))]
mod loom;

use crate::context::{Context, Next};
use crate::error::Error;
use crate::report::Watched;
use crate::stats::{PoolStats, Recorder, Stats};
use heist_policy::tuning::TICK_STEAL_AFTER_NS;
use heist_pool::raw::job;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::tick::{Key, NEVER, Share, Tick, TickRef, Ticks, When};
use heist_sync::planted::is_planted;
use heist_sync::{Mutex, Parker, StdArc as Arc, lock};
use schedule::{Ledger, Schedule};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Weak;
use std::time::Duration;

/// What the program wants to be run.
pub(crate) type Body = Box<dyn FnMut(&mut Context) -> Next + Send>;

/// What does not change about a tick.
#[derive(Debug)]
pub(crate) struct Spec {
    pub name: Option<Box<str>>,
    pub site: &'static Location<'static>,
    pub steal_after: Option<Duration>,
    pub is_pinned: bool,
    /// The node that it should run near, by its place in the pool's topology.
    pub near: Option<u16>,
    pub stops_on_panic: bool,
    pub watchdog: Option<Duration>,
}

/// A closure that was submitted.
struct Submitted {
    run: Box<dyn FnOnce() + Send>,
    at_ns: u64,
}

/// Where the token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Resting,
    Queued(u16, Key),
    Taken,
    Over,
}

/// How a tick has ended, or is going to as soon as what was accepted has run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Cancelled,
    Stopped,
    Panicked(String),
}

/// What is under a tick's lock. First what each run touches, so that it is in few lines of the cache.
#[repr(C)]
struct State {
    schedule: Schedule,
    place: Place,
    /// The index that serves it, and what it adds to the load there.
    index: u16,
    share: Share,
    /// The mean of the last run times, the newest with most weight.
    mean_ns: u64,
    /// Taken out while it runs.
    body: Option<Body>,
    /// Its number in the pool's list, while it is there.
    id: Option<u64>,
    submitted: VecDeque<Submitted>,
    /// Closures that have made room for a tick are not due before that; then it is their turn.
    closures_from_ns: Option<u64>,
    /// Since when the run or closure lasts that is under way.
    begun_ns: Option<u64>,
    recorder: Recorder,
    end: Option<End>,
    /// How often it was over: it may be rescheduled after that, unless the pool is closed.
    ends: u64,
    is_closed: bool,
    /// Threads that wait for its end.
    waiters: Vec<Arc<Parker>>,
    watched: Watched,
}

impl State {
    /// The number of its life, which ends when it is over.
    fn life(&self) -> u64 {
        if self.place == Place::Over { self.ends - 1 } else { self.ends }
    }

    /// When it is to be run next, a run or a closure.
    fn when(&self, steal_after_ns: u64, near: Option<u16>) -> Option<When> {
        let run_ns = self.schedule.due_ns();
        let oldest_ns = self.submitted.front().map(|submitted| submitted.at_ns);
        let closures_ns =
            oldest_ns.map(|at_ns| self.closures_from_ns.map_or(at_ns, |from_ns| at_ns.max(from_ns)));
        let due_ns = run_ns.into_iter().chain(closures_ns).min()?;
        let late_from_ns = run_ns.into_iter().chain(oldest_ns).min()?;
        let stealable_ns = match steal_after_ns {
            NEVER => NEVER,
            ns => late_from_ns.saturating_add(ns).max(due_ns).min(NEVER - 1),
        };
        Some(When { due_ns, stealable_ns, near })
    }
}

/// What is left to do once the lock is released.
#[must_use]
#[derive(Default)]
struct Aftermath {
    queued_at: Option<u16>,
    delisted: Option<u64>,
    waiters: Vec<Arc<Parker>>,
    /// No longer needed; its drop is the program's code.
    body: Option<Body>,
}

/// See the module. First what each run touches.
#[repr(C)]
pub(crate) struct Cell {
    this: Weak<Cell>,
    pool: Arc<Pool>,
    /// How late it may be before others may take it; [`NEVER`] if it is pinned.
    steal_after_ns: u64,
    /// As in its spec.
    near: Option<u16>,
    pool_stats: Arc<PoolStats>,
    state: Mutex<State>,
    spec: Spec,
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(NEVER)
}

/// How near an index is to the node near which a tick should run.
fn rank_of(pool: &Pool, near: Option<u16>, index: u16) -> u8 {
    near.zip(pool.places()).map_or(0, |(near, places)| places.rank_of_index(near, index))
}

impl Cell {
    /// A tick that is queued for the first time. Fails if the pool is closed.
    pub fn spawn(
        pool: &Arc<Pool>,
        spec: Spec,
        schedule: Schedule,
        recorder: Recorder,
        body: Body,
    ) -> Result<Arc<Self>, Error> {
        let index = {
            let rank = |index| rank_of(pool, spec.near, index);
            pool.queues().ticks().loads().least(pool.due().indices_for_ticks(), rank)
        };
        let steal_after = spec.steal_after.or(pool.config().tick_steal_after);
        let steal_after_ns = match spec.is_pinned {
            true => NEVER,
            false => steal_after.map_or(TICK_STEAL_AFTER_NS, nanos).min(NEVER - 1),
        };
        let state = State {
            schedule,
            place: Place::Resting,
            end: None,
            ends: 0,
            is_closed: false,
            id: None,
            index,
            share: None,
            mean_ns: 0,
            body: Some(body),
            submitted: VecDeque::new(),
            closures_from_ns: None,
            begun_ns: None,
            waiters: Vec::new(),
            recorder,
            watched: Watched::default(),
        };
        let cell = Arc::new_cyclic(|this| Self {
            this: this.clone(),
            pool: Arc::clone(pool),
            steal_after_ns,
            near: spec.near,
            pool_stats: PoolStats::of(pool),
            state: Mutex::new(state),
            spec,
        });
        let aftermath = cell.begin(&mut lock(&cell.state), Ledger::default())?;
        cell.follow_up(aftermath, false);
        Ok(cell)
    }

    /// Enlists a tick without a token that had this ledger before, and queues it.
    fn begin(&self, state: &mut State, before: Ledger) -> Result<Aftermath, Error> {
        let this: Weak<dyn Tick> = self.this.clone();
        let id = self.ticks().enlist(this, self.watchdog_ns(state)).ok_or(Error::PoolClosed)?;
        if let Some(before) = state.id.replace(id) {
            self.ticks().delist(before);
        }
        state.place = Place::Resting;
        self.pool_stats.record_ledger(state.index, before, state.schedule.ledger());
        self.ticks().loads().add(state.index, state.share);
        Ok(self.settle(state))
    }

    fn ticks(&self) -> &Ticks {
        self.pool.queues().ticks()
    }

    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    fn watchdog_ns(&self, state: &State) -> u64 {
        const LEAST_NS: u64 = 1_000_000_000;
        const PERIODS: u64 = 10;
        let default_ns = || state.schedule.period_ns().saturating_mul(PERIODS).max(LEAST_NS);
        self.spec.watchdog.map_or_else(default_ns, nanos)
    }

    /// Changes the schedule of a tick that is not over, and queues the tick anew. `None` if it is over, or about to be.
    pub fn change<R>(&self, change: impl FnOnce(&mut Schedule, u64) -> R) -> Option<R> {
        let mut state = lock(&self.state);
        if state.end.is_some() {
            return None;
        }
        let before_ns = self.watchdog_ns(&state);
        let result = change(&mut state.schedule, self.ticks().now_ns());
        let watchdog_ns = self.watchdog_ns(&state);
        let aftermath = self.settle(&mut state);
        drop(state);
        self.follow_up(aftermath, false);
        if watchdog_ns < before_ns {
            self.pool.driver_waiter().hasten_watchdog(watchdog_ns);
        }
        Some(result)
    }

    /// Until now the pool had no thread to run it: nothing of it is late for that.
    fn go_on_now(&self) {
        let mut state = lock(&self.state);
        let now_ns = self.ticks().now_ns();
        state.schedule.go_on(now_ns);
        for submitted in &mut state.submitted {
            submitted.at_ns = now_ns;
        }
        // A closure that makes room for a tick does so for one that has moved as well.
        state.closures_from_ns = None;
        let aftermath = self.settle(&mut state);
        drop(state);
        self.follow_up(aftermath, false);
    }

    /// Accepts a closure, or gives it back if the tick is over or ends.
    pub fn submit<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), F> {
        let mut state = lock(&self.state);
        if state.end.is_some() {
            return Err(f);
        }
        state.submitted.push_back(Submitted { run: Box::new(f), at_ns: self.ticks().now_ns() });
        // If others wait already, it is queued for them.
        let aftermath =
            if state.submitted.len() == 1 { self.settle(&mut state) } else { Aftermath::default() };
        drop(state);
        self.follow_up(aftermath, false);
        Ok(())
    }

    /// No more runs, and none of the closures that come from here on. False if it was over, or about to be.
    pub fn cancel(&self) -> bool {
        self.cancel_life().0
    }

    /// As [`cancel`](Self::cancel), with the life that ends.
    pub fn cancel_life(&self) -> (bool, u64) {
        let mut state = lock(&self.state);
        let (is_news, life) = (state.end.is_none(), state.life());
        if is_news {
            state.end = Some(End::Cancelled);
            let before = state.schedule.ledger();
            state.schedule.stop();
            self.pool_stats.record_ledger(state.index, before, state.schedule.ledger());
        }
        let aftermath = self.settle(&mut state);
        drop(state);
        self.follow_up(aftermath, false);
        (is_news, life)
    }

    /// The life that it is in, or was in before it was over.
    pub fn life(&self) -> u64 {
        lock(&self.state).life()
    }

    /// Begins again after a cancel, at `first_ns`.
    pub fn reschedule(&self, first_ns: impl FnOnce(&Schedule, u64) -> u64) -> Result<(), Error> {
        let mut state = lock(&self.state);
        if state.place != Place::Over || state.end != Some(End::Cancelled) {
            return Err(Error::NotCancelled);
        }
        let before = state.schedule;
        let now_ns = self.ticks().now_ns();
        state.schedule.restart(first_ns(&before, now_ns), now_ns);
        state.end = None;
        match self.begin(&mut state, before.ledger()) {
            Ok(aftermath) => {
                drop(state);
                self.follow_up(aftermath, false);
                Ok(())
            }
            Err(error) => {
                state.schedule = before;
                state.end = Some(End::Cancelled);
                Err(error)
            }
        }
    }

    /// How that life has ended, once it has. Who lives again was cancelled before.
    pub fn ended(&self, life: u64) -> Option<End> {
        let state = lock(&self.state);
        let is_last = state.place == Place::Over && life == state.life();
        (life < state.ends).then(|| state.end.clone().filter(|_| is_last).unwrap_or(End::Cancelled))
    }

    /// Adds a thread that waits for the end of that life. False if it is over.
    pub fn announce_wait(&self, life: u64, parker: &Arc<Parker>) -> bool {
        let mut state = lock(&self.state);
        if life < state.ends {
            return false;
        }
        if !state.waiters.iter().any(|waiter| Arc::ptr_eq(waiter, parker)) {
            state.waiters.push(Arc::clone(parker));
        }
        true
    }

    pub fn stats(&self) -> Stats {
        let state = lock(&self.state);
        state.recorder.snapshot(state.schedule.ledger(), self.ticks().now_ns())
    }

    /// Queues the tick for its next time, or anew if that has changed (T5).
    fn settle(&self, state: &mut State) -> Aftermath {
        match state.place {
            Place::Taken | Place::Over => Aftermath::default(),
            Place::Queued(index, key) => match self.ticks().withdraw(index, key) {
                // LIVENESS(T5): a thread has taken it, and finds the change under this lock.
                None if !is_planted("tick_cancel_ignores_the_taker") => Aftermath::default(),
                _ => self.put(state),
            },
            Place::Resting => {
                self.pool.driver().add_tick();
                self.put(state)
            }
        }
    }

    /// The caller has the token: it goes to the queue, or there is none any more.
    fn put(&self, state: &mut State) -> Aftermath {
        let is_all_run = state.submitted.is_empty() || is_planted("tick_end_forgets_closures");
        if state.schedule.is_ending() && is_all_run {
            return self.finish(state);
        }
        let Some(when) = state.when(self.steal_after_ns, self.near) else {
            state.place = Place::Resting;
            self.pool.driver().remove_tick();
            return Aftermath::default();
        };
        let tick: TickRef = self.this.upgrade().expect("whoever has a reference to a tick keeps it");
        let key = self.ticks().push(state.index, when, state.id.unwrap_or(0), tick);
        state.place = Place::Queued(state.index, key);
        Aftermath { queued_at: Some(state.index), ..Aftermath::default() }
    }

    /// It is over.
    fn finish(&self, state: &mut State) -> Aftermath {
        self.pool.driver().remove_tick();
        state.place = Place::Over;
        state.ends += 1;
        self.ticks().loads().remove(state.index, state.share);
        // A cancelled one may be rescheduled, and keeps its place in the pool's list: with the pool its closure goes.
        let is_kept = state.end == Some(End::Cancelled) && !state.is_closed;
        let delisted = if is_kept { None } else { state.id.take() };
        let body = if is_kept { None } else { state.body.take() };
        Aftermath { delisted, waiters: std::mem::take(&mut state.waiters), body, queued_at: None }
    }

    /// The pool is closed: no more runs, and nothing is kept for later.
    fn end_with_pool(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        if state.place == Place::Over {
            let body = state.body.take();
            drop(state);
            return discard(body);
        }
        drop(state);
        self.cancel();
    }

    /// What a change has led to, without the lock. `comes_back`: the calling thread has run the tick and looks for others next.
    fn follow_up(&self, aftermath: Aftermath, comes_back: bool) {
        let Aftermath { queued_at, delisted, waiters, body } = aftermath;
        if let Some(index) = queued_at {
            self.pool.driver_waiter().hasten(index, comes_back);
        }
        if let Some(id) = delisted {
            self.ticks().delist(id);
        }
        waiters.iter().for_each(|waiter| waiter.unpark());
        discard(body);
    }
}

/// Drops something of the program's, which may panic.
fn discard<T>(theirs: T) {
    if let Err(payload) = job::halt_unwinding(|| drop(theirs)) {
        job::discard(payload);
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        let (id, place, index, share) = (state.id, state.place, state.index, state.share);
        let body = state.body.take();
        drop(state);
        // One that was paused or cancelled, and that nobody can resume or reschedule.
        if let Some(id) = id {
            self.ticks().delist(id);
            if place != Place::Over {
                self.ticks().loads().remove(index, share);
            }
        }
        discard(body);
    }
}
