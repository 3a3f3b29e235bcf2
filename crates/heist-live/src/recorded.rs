//! What the threads of a pool have recorded since the last look: steals, and which task, tick or job they are inside of.

use crate::frame::MOST_ARROWS;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::recorder::{Kind, Reader, name};
use heist_pool::raw::sample::PoolNow;
use heist_trace::inside::{Inside, Step};
use std::collections::HashMap;

/// See the module. It remembers what the next look needs.
pub struct Recorded {
    reader: Reader,
    threads: HashMap<u16, Inside>,
}

/// What one look has found.
#[derive(Default)]
pub struct Found {
    /// Steals: when, by the clock of events, from which index, to which. The oldest first.
    pub arrows: Vec<(u64, u16, u16)>,
    /// Steals that are not among these.
    pub arrows_left: usize,
    /// Polls that took long: the task's name or place, and for how many nanoseconds.
    pub slow: Vec<(&'static str, u64)>,
    /// How often each task was polled, by its number in events.
    pub polls: HashMap<u32, u64>,
}

impl Recorded {
    /// From here on.
    pub fn from_now(pool: &Pool) -> Self {
        Self { reader: Reader::from_now(pool), threads: HashMap::new() }
    }

    /// The name of what a thread is inside of.
    pub fn runs(&self, thread: u16) -> Option<&'static str> {
        let outermost = self.threads.get(&thread)?.open().iter().find(|slice| slice.is_run())?;
        name::text(outermost.name)
    }

    pub fn look(&mut self, pool: &Pool, sample: &PoolNow, slow_ns: u64) -> Found {
        let mut found = Found::default();
        let index_of = |thread: u16| {
            let held =
                |at: usize| sample.permits[at].holder.as_ref().is_some_and(|holder| holder.number == thread);
            let place = (0..sample.permits.len()).find(|&at| held(at)).map(|at| at as u16);
            place.or_else(|| pool.threads().table().last_index(thread))
        };
        let Self { reader, threads } = self;
        reader.read(pool, &mut |thread, _, events, lost| {
            let inside = threads.entry(thread).or_default();
            if lost.0 > 0 {
                *inside = Inside::default();
            }
            for event in events {
                inside.take(event, &mut |step| found.slow.extend(slow_poll(step, event.at_ns, slow_ns)));
                if event.kind == Kind::PollStart {
                    *found.polls.entry(event.arg).or_default() += 1;
                }
                if event.kind == Kind::Steal {
                    let thief = event.worker.or_else(|| index_of(thread));
                    if let (Some(from), Some(to)) = (index_of(event.arg as u16), thief) {
                        found.arrows.push((event.at_ns, from, to));
                    }
                }
            }
        });
        found.arrows.sort_unstable();
        found.arrows_left = found.arrows.len().saturating_sub(MOST_ARROWS);
        found.arrows.drain(..found.arrows_left);
        found
    }
}

/// The name and time of a poll that has ended with this step and took long.
fn slow_poll(step: Step, at_ns: u64, slow_ns: u64) -> Option<(&'static str, u64)> {
    let Step::Ended { slice, is_known: true, .. } = step else { return None };
    let took_ns = at_ns.saturating_sub(slice.start_ns);
    let is_slow = slice.kind == Kind::PollStart && took_ns >= slow_ns;
    name::text(slice.name).filter(|_| is_slow).map(|text| (text, took_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use heist_trace::Event;

    #[test]
    fn polls_that_took_long_are_told_once_and_by_their_name() {
        let mut inside = Inside::default();
        let mut slow = Vec::new();
        let called = name::number("a poll of this test");
        for (at_ns, kind, arg) in [
            (0, Kind::PollEnd, 1),
            (1, Kind::Name, called),
            (1, Kind::PollStart, 1),
            (2, Kind::JobStart, 0),
            (30, Kind::JobEnd, 0),
            (31, Kind::PollEnd, 1),
            (32, Kind::Name, called),
            (32, Kind::PollStart, 1),
            (40, Kind::PollEnd, 1),
        ] {
            let event = Event { at_ns, kind, thread: 0, worker: None, arg };
            inside.take(&event, &mut |step| slow.extend(slow_poll(step, at_ns, 10)));
        }
        assert_eq!(slow, [("a poll of this test", 30)]);
    }
}
