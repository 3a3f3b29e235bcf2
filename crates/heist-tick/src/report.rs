//! What the program hears of ticks that run for too long, are not served, or panic.

use crate::cell::Cell;
use heist_sync::StdArc as Arc;
use heist_sync::process::{Origin, PerProcess};
use std::any::Any;
use std::fmt;
use std::panic::Location;
use std::sync::Mutex;
use std::time::Duration;

/// Something about a tick that its program should know.
///
/// ```
/// use heist::tick::{self, Next, Report};
/// use std::sync::mpsc::channel;
/// use std::time::Duration;
///
/// let (send, receive) = channel();
/// tick::on_report(move |report| {
///     if let Report::Panicked { name, message, .. } = report {
///         send.send((name.clone(), message.clone())).unwrap();
///     }
/// });
/// let region = tick::every(Duration::from_millis(1)).name("region 7").spawn(|_| -> Next { panic!("no such block") });
/// assert!(region.wait().is_err());
/// assert_eq!(receive.recv().unwrap(), (Some("region 7".into()), "no such block".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Report {
    /// A run, or a closure that was submitted, has lasted for longer than the tick's [`watchdog`](crate::Builder::watchdog), and goes on.
    #[non_exhaustive]
    LongRun {
        /// The tick's name.
        name: Option<String>,
        /// Where it was spawned.
        site: &'static Location<'static>,
        /// For how long it has been running.
        since: Duration,
    },
    /// The tick has been due for longer than its watchdog, and nobody has got to it.
    #[non_exhaustive]
    Unserved {
        /// The tick's name.
        name: Option<String>,
        /// Where it was spawned.
        site: &'static Location<'static>,
        /// For how long it has been due.
        since: Duration,
        /// Whether it is pinned to a worker, so that no other may run it.
        is_pinned: bool,
    },
    /// A run has panicked.
    #[non_exhaustive]
    Panicked {
        /// The tick's name.
        name: Option<String>,
        /// Where it was spawned.
        site: &'static Location<'static>,
        /// What the panic said.
        message: String,
        /// Whether the tick has ended with that.
        is_over: bool,
    },
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tick = |name: &Option<String>, site: &Location<'_>| match name {
            Some(name) => format!("the tick {name:?} (spawned at {site})"),
            None => format!("the tick spawned at {site}"),
        };
        match self {
            Self::LongRun { name, site, since } => {
                write!(f, "{} has been running for {since:?}", tick(name, site))
            }
            Self::Unserved { name, site, since, is_pinned } => {
                write!(f, "{} has been due for {since:?} and was not run", tick(name, site))?;
                if *is_pinned {
                    f.write_str(", because it is pinned to a worker that does not get to it")?;
                }
                Ok(())
            }
            Self::Panicked { name, site, message, is_over } => {
                let then = if *is_over { "has ended with a panic" } else { "has panicked and goes on" };
                write!(f, "{} {then}: {message}", tick(name, site))
            }
        }
    }
}

type Handler = Arc<dyn Fn(&Report) + Send + Sync>;

// A child process goes on with its parent's, unless that was being changed just then.
static HANDLER: PerProcess<Mutex<Option<Handler>>> = PerProcess::new(Mutex::new(None), inherited);

fn inherited() -> Mutex<Option<Handler>> {
    Mutex::new(HANDLER.first().try_lock().ok().and_then(|handler| handler.clone()))
}

/// Calls `f` for each [`Report`] of every pool, in place of a line on standard error. The last call wins.
///
/// Without it, each tick's first report of each kind is printed. `f` is called on a thread of its own for reports of the watchdog, and on the
/// thread that ran the tick after a panic. See [`Report`] for an example.
pub fn on_report(f: impl Fn(&Report) + Send + Sync + 'static) {
    let before = HANDLER.get().lock().unwrap_or_else(std::sync::PoisonError::into_inner).replace(Arc::new(f));
    // What it has captured is the program's, and is not dropped under the lock.
    drop(before);
}

/// What a panic said.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&'static str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").into()
}

impl Report {
    pub(crate) fn panicked(cell: &Cell, message: String) -> Self {
        let spec = cell.spec();
        let name = spec.name.as_deref().map(String::from);
        Self::Panicked { name, site: spec.site, message, is_over: spec.stops_on_panic }
    }

    pub(crate) fn of(cell: &Cell, incident: Incident, now_ns: u64) -> Self {
        let spec = cell.spec();
        let (name, site) = (spec.name.as_deref().map(String::from), spec.site);
        let since = Duration::from_nanos(now_ns.saturating_sub(incident.since_ns));
        match incident.is_run {
            true => Self::LongRun { name, site, since },
            false => Self::Unserved { name, site, since, is_pinned: spec.is_pinned },
        }
    }

    /// Tells the program. `is_first`: of its kind and tick.
    pub(crate) fn deliver(&self, is_first: bool) {
        let handler = HANDLER.get().lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        match handler {
            Some(handler) => {
                let origin = Origin::here();
                if let Err(payload) = heist_pool::raw::job::halt_unwinding(|| handler(self)) {
                    heist_pool::raw::job::discard(payload);
                }
                if origin.is_foreign() {
                    heist_pool::raw::process::end_child_after(false);
                }
            }
            None if is_first => heist_sync::warn(format_args!("{self}")),
            None => {}
        }
    }
}

/// A run that lasts too long, or a tick that is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Incident {
    is_run: bool,
    since_ns: u64,
    pub is_first: bool,
}

/// What the watchdog has seen of a tick, so that it tells of each thing once.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// The last run and the last due time that were reported.
    run_ns: Option<u64>,
    due_ns: Option<u64>,
    has_panicked: bool,
    news: Option<Incident>,
}

impl Watched {
    /// Whether this is the first panic.
    pub fn is_first_panic(&mut self) -> bool {
        !std::mem::replace(&mut self.has_panicked, true)
    }

    /// A look at a tick that has been running since `begun_ns`. True if that is to be reported.
    pub fn look_at_run(&mut self, begun_ns: Option<u64>, now_ns: u64, watchdog_ns: u64) -> bool {
        let late = begun_ns.filter(|&ns| now_ns.saturating_sub(ns) > watchdog_ns && self.run_ns != Some(ns));
        if let Some(since_ns) = late {
            self.news = Some(Incident { is_run: true, since_ns, is_first: self.run_ns.is_none() });
            self.run_ns = Some(since_ns);
        }
        late.is_some()
    }

    /// A look at a tick that is queued for `due_ns`.
    pub fn look_at_queue(&mut self, due_ns: Option<u64>, now_ns: u64, watchdog_ns: u64) -> bool {
        let late = due_ns.filter(|&ns| now_ns.saturating_sub(ns) > watchdog_ns && self.due_ns != Some(ns));
        if let Some(since_ns) = late {
            self.news = Some(Incident { is_run: false, since_ns, is_first: self.due_ns.is_none() });
            self.due_ns = Some(since_ns);
        }
        late.is_some()
    }

    /// What is to be reported.
    pub fn take(&mut self) -> Option<Incident> {
        self.news.take()
    }
}
