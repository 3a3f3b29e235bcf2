//! What the threads of a pool have recorded since the last look: steals, and which task, tick or job they are inside of.

use crate::frame::MOST_ARROWS;
use heist_pool::raw::pool::Pool;
use heist_pool::raw::recorder::{Kind, Reader, name};
use heist_pool::raw::sample::PoolNow;
use heist_trace::Event;
use std::collections::HashMap;

/// See the module. It remembers what the next look needs.
pub struct Recorded {
    reader: Reader,
    threads: HashMap<u16, Inside>,
}

/// What a thread is inside of, as far as its events say.
#[derive(Default)]
struct Inside {
    /// The name that its next event has.
    next: u32,
    /// When each of the things that it is inside of began, and its name; the outermost first.
    stack: Vec<(u64, u32)>,
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
}

/// No thread is in more at once; if so, events were missed.
const DEEPEST: usize = 256;

impl Recorded {
    /// From here on.
    pub fn from_now(pool: &Pool) -> Self {
        Self { reader: Reader::from_now(pool), threads: HashMap::new() }
    }

    /// The name of what a thread is inside of.
    pub fn runs(&self, thread: u16) -> Option<&'static str> {
        let &(_, number) = self.threads.get(&thread)?.stack.first()?;
        name::text(number)
    }

    pub fn look(&mut self, pool: &Pool, sample: &PoolNow, slow_ns: u64) -> Found {
        let mut found = Found::default();
        let index_of = |thread: u16| {
            let held =
                |at: usize| sample.permits[at].holder.as_ref().is_some_and(|holder| holder.number == thread);
            let place = (0..sample.permits.len()).find(|&at| held(at)).map(|at| at as u16);
            place.or_else(|| pool.last_index(thread))
        };
        let Self { reader, threads } = self;
        reader.read(pool, &mut |thread, _, events, lost| {
            let inside = threads.entry(thread).or_default();
            if lost.0 > 0 {
                *inside = Inside::default();
            }
            for event in events {
                if event.kind == Kind::Steal {
                    let thief = event.worker.or_else(|| index_of(thread));
                    if let (Some(from), Some(to)) = (index_of(event.arg as u16), thief) {
                        found.arrows.push((event.at_ns, from, to));
                    }
                }
                inside.take(event, slow_ns, &mut found.slow);
            }
        });
        found.arrows.sort_unstable();
        found.arrows_left = found.arrows.len().saturating_sub(MOST_ARROWS);
        found.arrows.drain(..found.arrows_left);
        found
    }
}

impl Inside {
    fn take(&mut self, event: &Event, slow_ns: u64, slow: &mut Vec<(&'static str, u64)>) {
        match event.kind {
            Kind::Name => {
                self.next = event.arg;
                return;
            }
            Kind::JobStart | Kind::PollStart | Kind::TickStart => {
                if self.stack.len() >= DEEPEST {
                    self.stack.clear();
                }
                self.stack.push((event.at_ns, self.next));
            }
            Kind::JobEnd | Kind::PollEnd | Kind::TickEnd => {
                let begun = self.stack.pop();
                if let Some((begun_ns, number)) = begun.filter(|_| event.kind == Kind::PollEnd) {
                    let took_ns = event.at_ns.saturating_sub(begun_ns);
                    slow.extend(
                        name::text(number).filter(|_| took_ns >= slow_ns).map(|text| (text, took_ns)),
                    );
                }
            }
            _ => {}
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_tell_what_a_thread_is_inside_of_and_which_polls_were_slow() {
        let mut inside = Inside::default();
        let mut slow = Vec::new();
        let mut take = |inside: &mut Inside, at_ns, kind, arg| {
            inside.take(&Event { at_ns, kind, thread: 0, worker: None, arg }, 10, &mut slow);
        };
        let called = name::number("a poll of this test");
        for (at_ns, kind, arg) in [
            (0, Kind::PollEnd, 1),
            (1, Kind::Name, called),
            (1, Kind::PollStart, 1),
            (2, Kind::JobStart, 0),
            (3, Kind::JobEnd, 0),
            (9, Kind::PollEnd, 1),
            (10, Kind::Name, called),
            (10, Kind::PollStart, 1),
        ] {
            take(&mut inside, at_ns, kind, arg);
        }
        assert_eq!(inside.stack, [(10, called)]);
        take(&mut inside, 30, Kind::PollEnd, 1);
        assert_eq!(inside.stack, []);
        assert_eq!(slow, [("a poll of this test", 20)]);
    }
}
