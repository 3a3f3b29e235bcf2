//! What each worker did when.

use crate::inside::Inside;
use crate::walk::Walk;
use crate::{Event, Kind, Trace};
use std::collections::BTreeMap;

mod render;
mod svg;
#[cfg(all(test, not(heist_model)))]
mod tests;

pub use render::{Glyphs, Style};

/// What a worker did for a while.
///
/// ```
/// use heist::trace::Activity;
/// assert!(Activity::Stolen.is_busy() && !Activity::Searching.is_busy());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Activity {
    /// Ran a job of its own.
    Own,
    /// Ran a job that it had stolen.
    Stolen,
    /// Was awake without a job.
    Searching,
    /// Was asleep for want of work.
    Parked,
    /// Held its index while its thread was blocked.
    Blocked,
    /// No thread is known to have held the index: it was lent and not taken up, or events were lost.
    Absent,
}

impl Activity {
    const ALL: [Activity; 6] =
        [Self::Own, Self::Stolen, Self::Searching, Self::Parked, Self::Blocked, Self::Absent];

    /// Whether the worker ran a job.
    ///
    /// ```
    /// assert!(heist::trace::Activity::Own.is_busy());
    /// ```
    #[must_use]
    pub const fn is_busy(self) -> bool {
        matches!(self, Self::Own | Self::Stolen)
    }

    fn of(thread: &Inside) -> Self {
        if thread.idle().is_some_and(|idle| idle.kind == Kind::Park) {
            return Self::Parked;
        }
        match thread.open().iter().rfind(|slice| slice.kind != Kind::SpanStart) {
            None => Self::Searching,
            Some(slice) if slice.kind == Kind::Block => Self::Blocked,
            Some(slice) if slice.from.is_some() => Self::Stolen,
            Some(_) => Self::Own,
        }
    }
}

/// A stretch of one activity.
///
/// ```
/// use heist::trace::{Activity, Interval};
/// let interval = Interval { start_ns: 5, end_ns: 9, activity: Activity::Own };
/// assert_eq!(interval.length_ns(), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What it was.
    pub activity: Activity,
}

impl Interval {
    /// How long it was.
    ///
    /// ```
    /// use heist::trace::{Activity, Interval};
    /// assert_eq!(Interval { start_ns: 1, end_ns: 1, activity: Activity::Own }.length_ns(), 0);
    /// ```
    #[must_use]
    pub const fn length_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// One worker's line: what the threads that held its index did.
///
/// ```
/// let timeline = heist::trace::Timeline::new(&heist::trace::Trace::default());
/// assert!(timeline.rows().iter().all(|row| row.utilisation() <= 1.0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    worker: u16,
    // INVARIANT: without holes or overlaps, from the trace's first event to its last; none is empty; neighbours differ.
    intervals: Vec<Interval>,
    steals: u64,
}

impl Row {
    /// The index.
    ///
    /// ```
    /// use heist::trace::{Timeline};
    /// # use heist::trace::{Event, Kind, Trace};
    /// # let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(3), arg: 0 };
    /// # let trace = Trace::builder()
    /// #     .events([at(0, Kind::JobStart), at(30, Kind::JobEnd), at(40, Kind::Steal)])
    /// #     .finish();
    /// # let timeline = Timeline::new(&trace);
    /// assert_eq!(timeline.rows()[0].worker(), 3);
    /// ```
    #[must_use]
    pub fn worker(&self) -> u16 {
        self.worker
    }

    /// What it did, without holes or overlaps, over the whole trace.
    ///
    /// ```
    /// use heist::trace::{Activity, Timeline};
    /// # use heist::trace::{Event, Kind, Trace};
    /// # let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(3), arg: 0 };
    /// # let trace = Trace::builder()
    /// #     .events([at(0, Kind::JobStart), at(30, Kind::JobEnd), at(40, Kind::Steal)])
    /// #     .finish();
    /// # let timeline = Timeline::new(&trace);
    /// let last = timeline.rows()[0].intervals().last().unwrap();
    /// assert_eq!((last.activity, last.length_ns()), (Activity::Searching, 10));
    /// ```
    #[must_use]
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// The intervals in which it ran jobs.
    ///
    /// ```
    /// use heist::trace::{Timeline};
    /// # use heist::trace::{Event, Kind, Trace};
    /// # let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(3), arg: 0 };
    /// # let trace = Trace::builder()
    /// #     .events([at(0, Kind::JobStart), at(30, Kind::JobEnd), at(40, Kind::Steal)])
    /// #     .finish();
    /// # let timeline = Timeline::new(&trace);
    /// assert_eq!(timeline.rows()[0].busy().count(), 1);
    /// ```
    pub fn busy(&self) -> impl Iterator<Item = &Interval> {
        self.intervals.iter().filter(|interval| interval.activity.is_busy())
    }

    /// The time spent on one activity.
    ///
    /// ```
    /// use heist::trace::{Activity, Timeline};
    /// # use heist::trace::{Event, Kind, Trace};
    /// # let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(3), arg: 0 };
    /// # let trace = Trace::builder()
    /// #     .events([at(0, Kind::JobStart), at(30, Kind::JobEnd), at(40, Kind::Steal)])
    /// #     .finish();
    /// # let timeline = Timeline::new(&trace);
    /// assert_eq!(timeline.rows()[0].time_ns(Activity::Own), 30);
    /// ```
    #[must_use]
    pub fn time_ns(&self, activity: Activity) -> u64 {
        self.intervals.iter().filter(|i| i.activity == activity).map(Interval::length_ns).sum()
    }

    /// The share of the trace's time in which it ran jobs, from 0 to 1; 0 if no time passed.
    ///
    /// ```
    /// use heist::trace::{Timeline};
    /// # use heist::trace::{Event, Kind, Trace};
    /// # let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(3), arg: 0 };
    /// # let trace = Trace::builder()
    /// #     .events([at(0, Kind::JobStart), at(30, Kind::JobEnd), at(40, Kind::Steal)])
    /// #     .finish();
    /// # let timeline = Timeline::new(&trace);
    /// assert_eq!(timeline.rows()[0].utilisation(), 0.75);
    /// ```
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        let total: u64 = self.intervals.iter().map(Interval::length_ns).sum();
        let busy: u64 = self.busy().map(Interval::length_ns).sum();
        if total == 0 { 0.0 } else { busy as f64 / total as f64 }
    }

    /// How many times it stole.
    ///
    /// ```
    /// use heist::trace::{Timeline};
    /// # use heist::trace::{Event, Kind, Trace};
    /// # let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(3), arg: 0 };
    /// # let trace = Trace::builder()
    /// #     .events([at(0, Kind::JobStart), at(30, Kind::JobEnd), at(40, Kind::Steal)])
    /// #     .finish();
    /// # let timeline = Timeline::new(&trace);
    /// assert_eq!(timeline.rows()[0].steals(), 1);
    /// ```
    #[must_use]
    pub fn steals(&self) -> u64 {
        self.steals
    }
}

/// What each worker did when, computed from a [`Trace`].
///
/// A worker is an index; several threads may hold it in turn, one at a time, and the row shows the one that does: a thread that
/// has lent its index is no longer in the picture until it gets it back. Threads without an index have no row. A worker
/// appears if any event names it.
///
/// ```
/// use heist::trace::{Activity, Event, Kind, Timeline, Trace};
/// let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(0), arg: 0 };
/// let trace = Trace::builder()
///     .events([at(0, Kind::JobStart), at(30, Kind::JobEnd), at(35, Kind::Park), at(40, Kind::Wake)])
///     .finish();
/// let timeline = Timeline::new(&trace);
/// let row = &timeline.rows()[0];
/// assert_eq!(row.utilisation(), 0.75);
/// assert_eq!(row.time_ns(Activity::Searching), 5);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    start_ns: u64,
    end_ns: u64,
    rows: Vec<Row>,
    lost: u64,
}

impl Timeline {
    /// Computes the timeline of a trace.
    ///
    /// ```
    /// use heist::trace::{Timeline, Trace};
    /// assert!(Timeline::new(&Trace::default()).rows().is_empty());
    /// ```
    #[must_use]
    pub fn new(trace: &Trace) -> Self {
        let (start_ns, end_ns) = trace.range_ns();
        let mut lines = Lines { start_ns, lines: BTreeMap::new(), holds: BTreeMap::new() };
        let mut walk = Walk::new(trace.events());
        for (position, event) in trace.events().iter().enumerate() {
            walk.step(position, &mut |_, _| {});
            lines.apply(event, &walk);
        }
        let rows = lines.lines.into_iter().map(|(worker, line)| line.finish(worker, end_ns)).collect();
        Self { start_ns, end_ns, rows, lost: trace.lost() }
    }

    /// The workers, by index.
    ///
    /// ```
    /// use heist::trace::{Timeline};
    /// # use heist::trace::{Event, Kind, Trace};
    /// # let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(3), arg: 0 };
    /// # let trace = Trace::builder()
    /// #     .events([at(0, Kind::JobStart), at(30, Kind::JobEnd), at(40, Kind::Steal)])
    /// #     .finish();
    /// assert_eq!(Timeline::new(&trace).rows().len(), 1);
    /// ```
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The time from the first event to the last.
    ///
    /// ```
    /// use heist::trace::{Timeline};
    /// # use heist::trace::{Event, Kind, Trace};
    /// # let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(3), arg: 0 };
    /// # let trace = Trace::builder()
    /// #     .events([at(0, Kind::JobStart), at(30, Kind::JobEnd), at(40, Kind::Steal)])
    /// #     .finish();
    /// assert_eq!(Timeline::new(&trace).duration_ns(), 40);
    /// ```
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    /// The mean of the workers' [utilisations](Row::utilisation); 0 without workers.
    ///
    /// ```
    /// use heist::trace::{Timeline};
    /// # use heist::trace::{Event, Kind, Trace};
    /// # let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(3), arg: 0 };
    /// # let trace = Trace::builder()
    /// #     .events([at(0, Kind::JobStart), at(30, Kind::JobEnd), at(40, Kind::Steal)])
    /// #     .finish();
    /// assert_eq!(Timeline::new(&trace).utilisation(), 0.75);
    /// ```
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        let sum: f64 = self.rows.iter().map(Row::utilisation).sum();
        if self.rows.is_empty() { 0.0 } else { sum / self.rows.len() as f64 }
    }

    /// How many times the workers stole.
    ///
    /// ```
    /// use heist::trace::{Timeline};
    /// # use heist::trace::{Event, Kind, Trace};
    /// # let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(3), arg: 0 };
    /// # let trace = Trace::builder()
    /// #     .events([at(0, Kind::JobStart), at(30, Kind::JobEnd), at(40, Kind::Steal)])
    /// #     .finish();
    /// assert_eq!(Timeline::new(&trace).steals(), 1);
    /// ```
    #[must_use]
    pub fn steals(&self) -> u64 {
        self.rows.iter().map(Row::steals).sum()
    }
}

/// The rows while they grow.
struct Lines {
    start_ns: u64,
    lines: BTreeMap<u16, Line>,
    /// Which index each thread holds.
    holds: BTreeMap<u16, u16>,
}

struct Line {
    intervals: Vec<Interval>,
    /// The thread that holds the index.
    holder: Option<u16>,
    since_ns: u64,
    activity: Activity,
    steals: u64,
}

impl Lines {
    fn apply(&mut self, event: &Event, walk: &Walk<'_>) {
        let index = match event.kind {
            Kind::Lend => None,
            Kind::Return => u16::try_from(event.arg).ok(),
            _ => event.worker,
        };
        let before = self.holds.get(&event.thread).copied();
        if let Some(index) = index {
            self.holds.insert(event.thread, index);
            // The last to name an index is the one that has it.
            self.line(index).holder = Some(event.thread);
        } else {
            self.holds.remove(&event.thread);
        }
        if let Some(line) = before.filter(|&b| Some(b) != index).and_then(|b| self.lines.get_mut(&b)) {
            line.holder = line.holder.filter(|&holder| holder != event.thread);
        }
        if event.kind == Kind::Asleep
            && let Some(index) = index
        {
            // When it was asleep is not known, so it is drawn at the end.
            let from_ns = event.at_ns.saturating_sub(u64::from(event.arg) * 1_000);
            self.line(index).sleep(from_ns);
        }
        if event.kind == Kind::Steal {
            event.worker.into_iter().for_each(|index| self.line(index).steals += 1);
        }
        let woken = match event.kind {
            Kind::Wake => u16::try_from(event.arg).ok().and_then(|number| self.holds.get(&number).copied()),
            _ => None,
        };
        for changed in [before, index, woken].into_iter().flatten() {
            self.line(changed).change(event.at_ns, walk);
        }
    }

    fn line(&mut self, index: u16) -> &mut Line {
        let since_ns = self.start_ns;
        self.lines.entry(index).or_insert_with(|| Line {
            intervals: Vec::new(),
            holder: None,
            since_ns,
            activity: Activity::Absent,
            steals: 0,
        })
    }
}

impl Line {
    /// Takes over what the holder does from `at_ns` on.
    fn change(&mut self, at_ns: u64, walk: &Walk<'_>) {
        let holder = self.holder.and_then(|number| walk.thread(number));
        let activity = holder.map_or(Activity::Absent, Activity::of);
        if activity != self.activity {
            self.close(at_ns);
            self.activity = activity;
        }
    }

    /// The holder was asleep from `from_ns` on, inside of what it does.
    fn sleep(&mut self, from_ns: u64) {
        self.close(from_ns.max(self.since_ns));
        self.activity = Activity::Blocked;
    }

    fn close(&mut self, end_ns: u64) {
        let (start_ns, activity) = (std::mem::replace(&mut self.since_ns, end_ns), self.activity);
        if start_ns == end_ns {
            return;
        }
        match self.intervals.last_mut() {
            // Something empty lay between.
            Some(last) if last.activity == activity => last.end_ns = end_ns,
            _ => self.intervals.push(Interval { start_ns, end_ns, activity }),
        }
    }

    fn finish(mut self, worker: u16, end_ns: u64) -> Row {
        self.close(end_ns);
        Row { worker, intervals: self.intervals, steals: self.steals }
    }
}
