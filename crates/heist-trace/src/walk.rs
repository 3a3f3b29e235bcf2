//! Follows each thread through a trace: which jobs, parks and blocks it is inside of.
//!
//! Timelines come from this walk. It accepts any events in any order: a recording may begin and end in
//! the middle of anything and have gaps. What a thread was inside of when its recording began is inferred from ends that
//! have no beginning.

use crate::{Event, Kind};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a thread can be inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A job; stolen from this thread, if it was.
    Job {
        from: Option<u32>,
    },
    Park,
    Block,
}

/// One stay inside something, from its beginning, or the recording's, to its end, or the recording's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub what: What,
    pub thread: u16,
    pub worker: Option<u16>,
    /// The beginning event's.
    pub arg: u32,
    pub start_ns: u64,
    pub end_ns: u64,
    /// How many spans it lies in.
    pub depth: usize,
    /// How many spans its thread entered before: the order of spans that begin at the same time.
    pub order: u64,
    /// The beginning was recorded.
    pub start_known: bool,
    /// The end was recorded.
    pub end_known: bool,
}

/// A thread between two of its events.
#[derive(Debug, Default)]
pub(crate) struct ThreadState {
    /// Innermost last. `end_ns` and `end_known` are not yet meaningful.
    open: Vec<Span>,
    /// False before its first event and inside a gap.
    pub known: bool,
    /// The victim of a steal whose job has not started yet.
    loot: Option<u32>,
    entered: u64,
}

impl ThreadState {
    /// The innermost thing that the thread is inside of; nothing means that it looks for work.
    pub fn innermost(&self) -> Option<What> {
        self.open.last().map(|span| span.what)
    }

    fn enter(&mut self, what: What, event: &Event, start_known: bool) {
        self.open.push(Span {
            what,
            thread: event.thread,
            worker: event.worker,
            arg: if start_known { event.arg } else { 0 },
            start_ns: event.at_ns,
            end_ns: event.at_ns,
            depth: self.open.len(),
            order: self.entered,
            start_known,
            end_known: false,
        });
        self.entered += 1;
    }

    /// Leaves everything down to `depth` open spans.
    fn leave(&mut self, depth: usize, end_ns: u64, end_known: bool, closed: &mut impl FnMut(Span)) {
        while self.open.len() > depth {
            let Some(span) = self.open.pop() else { return };
            closed(Span { end_ns, end_known, ..span });
        }
    }

    /// Leaves the innermost span of this kind and whatever is still open inside it.
    fn leave_innermost(&mut self, is: fn(What) -> bool, end_ns: u64, closed: &mut impl FnMut(Span)) {
        if let Some(depth) = self.open.iter().rposition(|span| is(span.what)) {
            self.leave(depth, end_ns, true, closed);
        }
    }

    fn leave_park(&mut self, end_ns: u64, closed: &mut impl FnMut(Span)) {
        if self.innermost() == Some(What::Park) {
            self.leave(self.open.len() - 1, end_ns, true, closed);
        }
    }

    fn apply(&mut self, event: &Event, closed: &mut impl FnMut(Span)) {
        let at_ns = event.at_ns;
        // Whoever acts is awake, by whatever woke it.
        self.leave_park(at_ns, closed);
        match event.kind {
            Kind::JobStart | Kind::PollStart | Kind::TickStart => {
                let from = self.loot.take();
                self.enter(What::Job { from }, event, true);
            }
            kind if kind.is_end() => {
                self.leave_innermost(|what| matches!(what, What::Job { .. }), at_ns, closed);
            }
            Kind::Steal => self.loot = Some(event.arg),
            Kind::Park => {
                // Nobody parks inside a job: if one is open, its end is missing, and this is where the error stops.
                self.leave(0, at_ns, false, closed);
                self.loot = None;
                self.enter(What::Park, event, true);
            }
            Kind::Block => self.enter(What::Block, event, true),
            Kind::Unblock => self.leave_innermost(|what| what == What::Block, at_ns, closed),
            // What a thread says beside what it does.
            _ => {}
        }
    }
}

/// The walk over all threads of a trace.
pub(crate) struct Walk<'a> {
    events: &'a [Event],
    /// By the position of a stretch's first event: what the thread was inside of, outermost first.
    begins: HashMap<usize, Vec<What>>,
    /// The positions of the last events before a gap.
    ends: HashSet<usize>,
    threads: BTreeMap<u16, ThreadState>,
}

impl<'a> Walk<'a> {
    pub fn new(events: &'a [Event]) -> Self {
        let (begins, ends) = stretches(events);
        Self { events, begins, ends, threads: BTreeMap::new() }
    }

    /// Applies the event at `position`, calling `closed` with each span that it ends. Positions must come in order.
    pub fn step(&mut self, position: usize, closed: &mut impl FnMut(Span)) {
        let event = &self.events[position];
        let state = self.threads.entry(event.thread).or_default();
        if let Some(inside) = self.begins.get(&position) {
            state.known = true;
            inside.iter().for_each(|&what| state.enter(what, event, false));
        }
        state.apply(event, closed);
        if self.ends.contains(&position) {
            state.leave(0, event.at_ns, false, closed);
            *state = ThreadState { entered: state.entered, ..ThreadState::default() };
        }
        if event.kind == Kind::Wake {
            let woken = u16::try_from(event.arg).ok().and_then(|number| self.threads.get_mut(&number));
            woken.into_iter().for_each(|woken| woken.leave_park(event.at_ns, closed));
        }
    }

    /// Ends whatever is still open when the recording ends.
    #[cfg(test)]
    pub fn finish(mut self, end_ns: u64, closed: &mut impl FnMut(Span)) {
        for state in self.threads.values_mut() {
            state.leave(0, end_ns, false, closed);
        }
    }

    pub fn thread(&self, number: u16) -> Option<&ThreadState> {
        self.threads.get(&number)
    }
}

/// Splits each thread's events at its gaps, and finds out from the unmatched ends of each stretch what it began inside of.
fn stretches(events: &[Event]) -> (HashMap<usize, Vec<What>>, HashSet<usize>) {
    #[derive(Default)]
    struct Backwards {
        /// Ends without a beginning so far, the last one first: the outermost first.
        unmatched: Vec<What>,
        /// The position of the earliest event seen, unless a gap was.
        earliest: Option<usize>,
        gap_after: bool,
    }
    const JOB: What = What::Job { from: None };
    let (mut begins, mut ends) = (HashMap::new(), HashSet::new());
    let mut threads: HashMap<u16, Backwards> = HashMap::new();
    for (position, event) in events.iter().enumerate().rev() {
        let thread = threads.entry(event.thread).or_default();
        if std::mem::take(&mut thread.gap_after) {
            ends.insert(position);
        }
        match event.kind {
            kind if kind.is_end() => thread.unmatched.push(JOB),
            Kind::Unblock => thread.unmatched.push(What::Block),
            kind if kind.end().is_some() && thread.unmatched.last() == Some(&JOB) => {
                let _ = thread.unmatched.pop();
            }
            Kind::Block if thread.unmatched.last() == Some(&What::Block) => drop(thread.unmatched.pop()),
            Kind::Park => thread.unmatched.clear(),
            _ => {}
        }
        thread.earliest = Some(position);
        if event.kind == Kind::Gap {
            begins.insert(position, std::mem::take(&mut thread.unmatched));
            *thread = Backwards { gap_after: true, ..Backwards::default() };
        }
    }
    for thread in threads.into_values() {
        if let Some(position) = thread.earliest {
            begins.insert(position, thread.unmatched);
        }
    }
    (begins, ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lost, Trace};

    fn spans(trace: &Trace) -> Vec<Span> {
        let mut walk = Walk::new(trace.events());
        let mut spans = Vec::new();
        (0..trace.events().len()).for_each(|position| walk.step(position, &mut |span| spans.push(span)));
        walk.finish(trace.range_ns().1, &mut |span| spans.push(span));
        spans.sort_by_key(|span| (span.thread, span.order));
        spans
    }

    /// Spans as text: `thread what start-end depth`, with `?` for an unknown edge.
    fn texts(trace: &Trace) -> Vec<String> {
        let text = |s: Span| {
            let what = match s.what {
                What::Job { from: None } => "own".into(),
                What::Job { from: Some(victim) } => format!("from {victim}"),
                What::Park => "park".into(),
                What::Block => "block".into(),
            };
            let (a, b) = (if s.start_known { "" } else { "?" }, if s.end_known { "" } else { "?" });
            format!("{} {what} {a}{}-{}{b} {}", s.thread, s.start_ns, s.end_ns, s.depth)
        };
        spans(trace).into_iter().map(text).collect()
    }

    fn at(at_ns: u64, thread: u16, kind: Kind, arg: u32) -> Event {
        Event { at_ns, kind, thread, worker: Some(thread), arg }
    }

    #[test]
    fn jobs_nest_and_only_the_first_after_a_steal_is_stolen() {
        use Kind::*;
        let trace = Trace::builder()
            .events([
                at(0, 0, Steal, 4),
                at(1, 0, JobStart, 0),
                at(2, 0, JobStart, 0),
                at(3, 0, JobEnd, 0),
                at(4, 0, Block, 0),
                at(6, 0, Unblock, 0),
                at(7, 0, JobEnd, 0),
            ])
            .finish();
        assert_eq!(texts(&trace), ["0 from 4 1-7 0", "0 own 2-3 1", "0 block 4-6 1"]);
    }

    #[test]
    fn a_park_ends_with_a_wake_or_the_next_own_event() {
        use Kind::*;
        let trace = Trace::builder()
            .events([
                at(0, 0, Park, 0),
                at(0, 1, Park, 0),
                at(5, 2, Wake, 0),
                at(6, 1, JobStart, 0),
                at(9, 0, Park, 0),
                at(10, 2, Wake, 77),
            ])
            .finish();
        assert_eq!(texts(&trace), ["0 park 0-5 0", "0 park 9-10? 0", "1 park 0-6 0", "1 own 6-10? 0"]);
    }

    #[test]
    fn a_recording_may_begin_and_end_inside_of_things() {
        use Kind::*;
        let trace = Trace::builder()
            .events([
                at(1, 0, Unblock, 0),
                at(2, 0, JobStart, 0),
                at(3, 0, JobEnd, 0),
                at(4, 0, JobEnd, 0),
                at(5, 0, JobStart, 0),
                at(9, 1, Lend, 0),
            ])
            .finish();
        assert_eq!(texts(&trace), ["0 own ?1-4 0", "0 block ?1-1 1", "0 own 2-3 1", "0 own 5-9? 0"]);
    }

    #[test]
    fn nothing_is_claimed_across_a_gap() {
        use Kind::*;
        let trace = Trace::builder()
            .batch(0, [at(0, 0, JobStart, 0), at(1, 0, JobStart, 0)], Lost(0))
            .batch(0, [at(10, 0, JobStart, 0), at(11, 0, JobEnd, 0), at(12, 0, JobEnd, 0)], Lost(8))
            .finish();
        assert_eq!(texts(&trace), ["0 own 0-1? 0", "0 own 1-1? 1", "0 own ?10-12 0", "0 own 10-11 1"]);
    }

    #[test]
    fn a_park_inside_a_job_stops_the_error() {
        use Kind::*;
        let trace = Trace::builder()
            .events([at(0, 0, JobStart, 0), at(2, 0, Park, 0), at(3, 0, JobStart, 0), at(4, 0, JobEnd, 0)])
            .finish();
        assert_eq!(texts(&trace), ["0 own 0-2? 0", "0 park 2-3 0", "0 own 3-4 0"]);
    }

    #[test]
    fn spans_of_one_moment_keep_the_order_of_entering() {
        use Kind::*;
        let trace = Trace::builder()
            .events([at(0, 0, JobStart, 0), at(5, 0, Block, 0), at(5, 0, JobEnd, 0), at(5, 0, JobStart, 0)])
            .finish();
        assert_eq!(texts(&trace), ["0 own 0-5 0", "0 block 5-5 1", "0 own 5-5? 0"]);
    }
}
