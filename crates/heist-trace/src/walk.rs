//! Follows all threads of a whole trace at once, in the order of time.
//!
//! Timelines come from this walk. It knows more than a thread's own events say: who is woken by whom, and, from ends that have no beginning,
//! what a thread was inside of when its recording began.

use crate::inside::{Inside, Step};
use crate::{Event, Kind};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The walk over all threads of a trace.
pub(crate) struct Walk<'a> {
    events: &'a [Event],
    /// By the position of a stretch's first event: what the thread was inside of, outermost first.
    begins: HashMap<usize, Vec<Kind>>,
    /// The positions of the last events before a gap.
    ends: HashSet<usize>,
    /// Those of which something is known: from their first event on, and not inside a gap.
    threads: BTreeMap<u16, Inside>,
}

impl<'a> Walk<'a> {
    pub fn new(events: &'a [Event]) -> Self {
        let (begins, ends) = stretches(events);
        Self { events, begins, ends, threads: BTreeMap::new() }
    }

    /// Applies the event at `position`, calling `step` with a thread and what the event means for it. Positions must come in order.
    pub fn step(&mut self, position: usize, step: &mut dyn FnMut(u16, Step)) {
        let event = &self.events[position];
        let number = event.thread;
        let thread = self.threads.entry(number).or_default();
        let inside = self.begins.get(&position).into_iter().flatten();
        if event.kind == Kind::Gap {
            // Whatever it was inside of, it is not any more.
            thread.take(event, &mut |what| step(number, what));
            inside.for_each(|&kind| thread.presume(kind, event.at_ns));
        } else {
            inside.for_each(|&kind| thread.presume(kind, event.at_ns));
            thread.take(event, &mut |what| step(number, what));
        }
        if self.ends.contains(&position) {
            thread.close(&mut |what| step(number, what));
            self.threads.remove(&number);
        }
        if event.kind == Kind::Wake
            && let Ok(woken) = u16::try_from(event.arg)
            && let Some(thread) = self.threads.get_mut(&woken)
        {
            thread.wake(&mut |what| step(woken, what));
        }
    }

    /// Ends whatever is still open when the recording ends.
    #[cfg(test)]
    pub fn finish(mut self, step: &mut dyn FnMut(u16, Step)) {
        for (&number, thread) in &mut self.threads {
            thread.close(&mut |what| step(number, what));
        }
    }

    /// `None` before its first event and inside a gap.
    pub fn thread(&self, number: u16) -> Option<&Inside> {
        self.threads.get(&number)
    }
}

/// Splits each thread's events at its gaps, and finds out from the unmatched ends of each stretch what it began inside of.
fn stretches(events: &[Event]) -> (HashMap<usize, Vec<Kind>>, HashSet<usize>) {
    #[derive(Default)]
    struct Backwards {
        /// What ends without a beginning so far, the last one first: the outermost first.
        unmatched: Vec<Kind>,
        /// The position of the earliest event seen, unless a gap was.
        earliest: Option<usize>,
        gap_after: bool,
    }
    let (mut begins, mut ends) = (HashMap::new(), HashSet::new());
    let mut threads: HashMap<u16, Backwards> = HashMap::new();
    for (position, event) in events.iter().enumerate().rev() {
        let thread = threads.entry(event.thread).or_default();
        if std::mem::take(&mut thread.gap_after) {
            ends.insert(position);
        }
        match event.kind {
            // A span need not end where it began, and is drawn nowhere.
            Kind::SpanEnd => {}
            Kind::Park => thread.unmatched.clear(),
            kind => match kind.start() {
                Some(start) => thread.unmatched.push(start),
                None => drop(thread.unmatched.pop_if(|unmatched| *unmatched == kind)),
            },
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

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use crate::{Lost, Trace};

    /// What threads were inside of, by thread and in the order in which they entered it: `thread what start-end depth`, with `?` for an
    /// unknown edge.
    fn texts(trace: &Trace) -> Vec<String> {
        let mut walk = Walk::new(trace.events());
        // Per thread what has ended, by the order in which it was entered; the order of what is open, and whether its beginning was seen.
        #[derive(Default)]
        struct Seen {
            done: Vec<(usize, String)>,
            open: Vec<(usize, bool)>,
            entered: usize,
        }
        let mut threads: BTreeMap<u16, Seen> = BTreeMap::new();
        let enter = |seen: &mut Seen, is_seen: bool| {
            seen.open.push((seen.entered, is_seen));
            seen.entered += 1;
        };
        let note = |seen: &mut Seen, at_ns: u64, thread: u16, step: Step| match step {
            Step::Began(_) => enter(seen, true),
            Step::Ended { slice, is_known, .. } => {
                let what = match (slice.kind, slice.from) {
                    (Kind::Park, _) => "park".into(),
                    (Kind::Block, _) => "block".into(),
                    (_, None) => "own".into(),
                    (_, Some(victim)) => format!("from {victim}"),
                };
                let (order, is_seen) = seen.open.pop().unwrap();
                let [before, after] = [is_seen, is_known].map(|is_known| if is_known { "" } else { "?" });
                let (start_ns, depth) = (slice.start_ns, seen.open.len());
                seen.done.push((order, format!("{thread} {what} {before}{start_ns}-{at_ns}{after} {depth}")));
            }
            Step::EndedUnbegun { .. } => panic!("what has no beginning is presumed"),
        };
        for (position, event) in trace.events().iter().enumerate() {
            for _ in walk.begins.get(&position).into_iter().flatten() {
                enter(threads.entry(event.thread).or_default(), false);
            }
            walk.step(position, &mut |thread, step| {
                note(threads.entry(thread).or_default(), event.at_ns, thread, step);
            });
        }
        let until_ns = trace.range_ns().1;
        walk.finish(&mut |thread, step| note(threads.entry(thread).or_default(), until_ns, thread, step));
        let sorted = threads.into_values().flat_map(|mut seen| {
            seen.done.sort_by_key(|(order, _)| *order);
            seen.done
        });
        sorted.map(|(_, text)| text).collect()
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
        assert_eq!(texts(&trace), ["0 park 0-5 0", "0 park 9-10 0", "1 park 0-6 0", "1 own 6-10? 0"]);
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
