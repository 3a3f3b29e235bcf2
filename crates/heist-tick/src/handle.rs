//! A tick's public handle.

use crate::builder::spread;
use crate::cell::{Cell, End};
use crate::context::Running;
use crate::error::{Error, Panicked, SubmitError};
use crate::stats::Stats;
use heist_pool::raw::pool::{outside_parker, wait_outside};
use heist_pool::raw::signal::Awaited;
use heist_pool::raw::worker::Worker;
use heist_sync::{Parker, StdArc as Arc};
use std::fmt;
use std::time::Duration;

/// A tick that was spawned. Dropping it detaches the tick, which goes on; one that is paused is dropped with its last handle.
///
/// ```
/// use heist::tick::{self, Next};
/// use std::time::Duration;
///
/// let region = tick::every(Duration::from_millis(50)).name("region 3").spawn(|_| Next::Continue);
/// region.submit(|| println!("a packet has come")).unwrap();
/// region.cancel_and_wait();
/// assert_eq!(region.stats().totals.closures, 1);
/// ```
#[derive(Clone)]
pub struct Handle {
    cell: Arc<Cell>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = self.cell.spec();
        f.debug_struct("Handle").field("name", &spec.name).field("site", &spec.site).finish_non_exhaustive()
    }
}

/// The end of a tick's life, and who waits for it.
struct Ending<'a> {
    cell: &'a Cell,
    life: u64,
    parker: Arc<Parker>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.is_foreign() {
            // What the tick was in the middle of is not to be dropped here.
            std::mem::forget(Arc::clone(&self.cell));
        }
    }
}

impl Awaited for Ending<'_> {
    fn is_over(&self) -> bool {
        // In a child process the tick does not end, and its lock may be held by a thread that is not there.
        !self.cell.pool().is_foreign() && self.cell.ended(self.life).is_some()
    }

    fn announce_wait(&self) -> bool {
        self.cell.pool().is_foreign() || self.cell.announce_wait(self.life, &self.parker)
    }
}

impl Handle {
    pub(crate) fn new(cell: Arc<Cell>) -> Self {
        Self { cell }
    }

    /// Whether the tick is the parent process's.
    fn is_foreign(&self) -> bool {
        self.cell.pool().is_foreign()
    }

    /// The tick, for what needs its lock.
    ///
    /// # Panics
    /// In a child process, where the lock may be held by a thread that is not there.
    #[track_caller]
    fn own_cell(&self) -> &Cell {
        assert!(!self.is_foreign(), "{}", Error::Forked);
        &self.cell
    }

    /// The tick's name.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_secs(1)).name("heartbeat").spawn(|_| Next::Stop);
    /// assert_eq!(tick.name(), Some("heartbeat"));
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.cell.spec().name.as_deref()
    }

    /// Runs `f` between two runs of the tick, on a thread of its pool: never at the same time as a run or as another such closure, and
    /// the oldest first. Before each run at least one of those that wait is run.
    ///
    /// A panic of `f` goes to the pool's panic handler, as that of a detached job, and the tick goes on.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    ///
    /// let (send, receive) = channel();
    /// let tick = tick::every(Duration::from_secs(3600)).spawn(|_| Next::Continue);
    /// tick.submit(move || send.send("long before the next run").unwrap()).unwrap();
    /// assert_eq!(receive.recv().unwrap(), "long before the next run");
    /// # tick.cancel();
    /// ```
    ///
    /// # Errors
    /// If the tick is over, or was cancelled, has stopped or has panicked: the closure is given back.
    pub fn submit<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), SubmitError<F>> {
        if self.is_foreign() {
            return Err(SubmitError { closure: f, is_foreign: true });
        }
        self.cell.submit(f).map_err(|closure| SubmitError { closure, is_foreign: false })
    }

    /// What the tick has done so far.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_millis(1)).spawn(|_| Next::Stop);
    /// tick.wait().unwrap();
    /// let ledger = tick.stats().ledger;
    /// assert_eq!((ledger.run, ledger.pending), (1, 0));
    /// assert!(ledger.is_balanced());
    /// ```
    pub fn stats(&self) -> Stats {
        self.own_cell().stats()
    }

    /// Gives the tick another period. It counts from the last run on: if that was longer ago, the next run is due now. A first
    /// run keeps the time that [`start_at`](crate::Builder::start_at) has given it.
    ///
    /// Has no effect on a tick that is over.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::{Duration, Instant};
    ///
    /// let far = Instant::now() + Duration::from_secs(7200);
    /// let tick = tick::every(Duration::from_secs(3600)).start_at(far).spawn(|_| Next::Stop);
    /// tick.set_period(Duration::from_millis(1)).unwrap();
    /// # tick.cancel();
    /// ```
    ///
    /// # Errors
    /// If the period is zero.
    pub fn set_period(&self, period: Duration) -> Result<(), Error> {
        let period_ns = crate::builder::period_ns(period)?;
        if self.is_foreign() {
            return Err(Error::Forked);
        }
        self.cell.change(|schedule, now_ns| schedule.set_period(period_ns, now_ns));
        Ok(())
    }

    /// Holds the tick: it is not run until [`resume`](Self::resume), and nothing is scheduled meanwhile. A run that is under way ends, and so
    /// does a [`sprint`](Self::sprint); closures that are submitted still run.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_millis(1)).spawn(|_| Next::Stop);
    /// tick.pause();
    /// tick.resume();
    /// tick.wait().unwrap();
    /// ```
    pub fn pause(&self) {
        self.own_cell().change(|schedule, _| schedule.pause());
    }

    /// Lets a tick that was paused go on, at the next multiple of its period. See [`pause`](Self::pause) for an example.
    pub fn resume(&self) {
        self.own_cell().change(|schedule, now_ns| schedule.resume(now_ns));
    }

    /// Runs a paused tick `n` times, at its period, the first time at once; then it is paused as before. False if it is not paused.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::sync::mpsc::channel;
    /// use std::time::Duration;
    ///
    /// let (send, receive) = channel();
    /// let tick = tick::every(Duration::from_secs(3600)).spawn(move |_| {
    ///     send.send(()).unwrap();
    ///     Next::Continue
    /// });
    /// assert!(!tick.step(1));
    /// tick.pause();
    /// assert!(tick.step(1));
    /// receive.recv().unwrap();
    /// ```
    pub fn step(&self, n: u64) -> bool {
        self.own_cell().change(|schedule, now_ns| schedule.step(n, now_ns)).unwrap_or(false)
    }

    /// Runs the tick `n` times as fast as possible, also if it is paused. Then it goes on as before.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::{Duration, Instant};
    ///
    /// let begun = Instant::now();
    /// let mut runs = 0;
    /// let tick = tick::every(Duration::from_secs(3600)).spawn(move |_| {
    ///     runs += 1;
    ///     if runs == 100 { Next::Stop } else { Next::Continue }
    /// });
    /// tick.sprint(100);
    /// tick.wait().unwrap();
    /// assert!(begun.elapsed() < Duration::from_secs(3600));
    /// ```
    pub fn sprint(&self, n: u64) {
        self.own_cell().change(|schedule, now_ns| schedule.sprint(n, now_ns));
    }

    /// Ends the tick: there are no more runs. One that is under way ends, and closures that were accepted still run. False if it was over
    /// before, or about to be, and in a child process: the tick is the parent's, and has never run there.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_secs(1)).spawn(|_| Next::Continue);
    /// assert!(tick.cancel());
    /// assert!(!tick.cancel());
    /// ```
    pub fn cancel(&self) -> bool {
        !self.is_foreign() && self.cell.cancel()
    }

    /// As [`cancel`](Self::cancel), and waits for the end.
    ///
    /// # Panics
    /// If a run of this tick, or a closure that was submitted to it, calls this: it would wait for itself.
    ///
    /// # Blocking
    /// As [`wait`](Self::wait).
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_millis(1)).spawn(|_| Next::Continue);
    /// tick.cancel_and_wait();
    /// assert_eq!(tick.stats().ledger.pending, 0);
    /// ```
    pub fn cancel_and_wait(&self) -> bool {
        if self.is_foreign() {
            return false;
        }
        let (is_news, life) = self.cell.cancel_life();
        self.wait_for_end(life);
        is_news
    }

    /// Begins again after a [`cancel`](Self::cancel), with the same closure and settings; the first run comes within a period. The closure is
    /// kept for that until the pool is closed, or the last handle is gone.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_millis(1)).spawn(|_| Next::Continue);
    /// tick.cancel_and_wait();
    /// tick.reschedule().unwrap();
    /// assert_eq!(tick.reschedule(), Err(tick::Error::NotCancelled));
    /// # tick.cancel();
    /// ```
    ///
    /// # Errors
    /// If it was not cancelled, or is not yet over, or the pool is closed.
    pub fn reschedule(&self) -> Result<(), Error> {
        if self.is_foreign() {
            return Err(Error::Forked);
        }
        let ticks = self.cell.pool().queues().ticks();
        self.cell.reschedule(|schedule, now_ns| now_ns.saturating_add(spread(ticks, schedule.period_ns())))
    }

    /// Waits until the tick is over: cancelled, stopped by [`Next::Stop`](crate::Next::Stop) or a panic, or ended with its pool.
    ///
    /// ```
    /// use heist::tick::{self, Next};
    /// use std::time::Duration;
    ///
    /// let tick = tick::every(Duration::from_millis(1)).spawn(|_| Next::Stop);
    /// assert!(tick.wait().is_ok());
    /// ```
    ///
    /// # Errors
    /// If it has ended with a panic, also of a run that was under way when it was cancelled.
    ///
    /// # Panics
    /// If a run of this tick, or a closure that was submitted to it, calls this: it would wait for itself.
    ///
    /// # Blocking
    /// Until the tick is over. A thread of a pool lends its permit to another meanwhile.
    pub fn wait(&self) -> Result<(), Panicked> {
        let life = self.own_cell().life();
        self.wait_for_end(life);
        match self.cell.ended(life) {
            Some(End::Panicked(message)) => Err(Panicked { message }),
            Some(End::Cancelled | End::Stopped) | None => Ok(()),
        }
    }

    fn wait_for_end(&self, life: u64) {
        assert!(
            !Running::is(&self.cell),
            "a tick waits for its own end; return Next::Stop, or call cancel without waiting"
        );
        match Worker::current() {
            Some(worker) => {
                let parker = Arc::clone(worker.shared().parker());
                worker.wait(&Ending { cell: &self.cell, life, parker }, &());
            }
            None => {
                let parker = outside_parker();
                wait_outside(&Ending { cell: &self.cell, life, parker: Arc::clone(&parker) }, &parker);
            }
        }
    }
}
