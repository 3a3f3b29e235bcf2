//! What a thread is inside of, event by event. Files, timelines, the live view and the flight recorder follow threads by this and nothing
//! else.
//!
//! It accepts any events: a recording may begin and end in the middle of anything and have gaps.

use crate::{Event, Kind};

/// Something that a thread is inside of, or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// What it began with: the start of a job, a poll, a tick or a span; a block, a park or a search.
    pub kind: Kind,
    /// That event's argument.
    pub arg: u32,
    /// The number of its name, 0 if it has none.
    pub name: u32,
    /// The thread that it was stolen from, if it was.
    pub from: Option<u32>,
    /// When it began.
    pub start_ns: u64,
}

impl Slice {
    /// Whether it is a job, a poll or a tick: what heist runs for the program.
    pub fn is_run(&self) -> bool {
        self.kind.end().is_some()
    }
}

/// What an event means for what its thread is inside of. One may mean several, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The innermost slice has ended.
    Ended {
        /// It.
        slice: Slice,
        /// For how many microseconds the thread has slept in the kernel inside of it.
        asleep_us: u32,
        /// Whether its end was recorded, or that of something around it. If not, it has ended at some time before.
        is_known: bool,
    },
    /// Something has ended that had begun before anybody looked.
    EndedUnbegun {
        /// What it would have begun with.
        kind: Kind,
        /// Since when the thread is known.
        since_ns: u64,
    },
    /// A slice has begun.
    Began(Slice),
}

/// A thread between two of its events.
#[derive(Clone, Debug, Default)]
pub struct Inside {
    /// Innermost last.
    open: Vec<Slice>,
    /// It is parked, or searches, until its next event.
    idle: Option<Slice>,
    /// The victim of a steal whose job has not started yet.
    loot: Option<u32>,
    /// What belongs to the next event.
    name: u32,
    high: Option<u32>,
    asleep_us: u32,
    /// Since when it is known: its first event, or that after a gap.
    since_ns: Option<u64>,
}

/// What an event says beside its kind, by those before it that belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// The number of its name, 0 if it has none.
    pub name: u32,
    /// The upper half of its argument.
    pub high: Option<u32>,
}

impl Inside {
    /// What it is inside of, outermost first: jobs, polls, ticks, spans and blocks.
    pub fn open(&self) -> &[Slice] {
        &self.open
    }

    /// That it is parked, or searches, and since when.
    pub fn idle(&self) -> Option<&Slice> {
        self.idle.as_ref()
    }

    /// Takes its next event. `None` for one that only says something about the next.
    pub fn take(&mut self, event: &Event, step: &mut dyn FnMut(Step)) -> Option<Said> {
        let &Event { at_ns, kind, arg, .. } = event;
        let since_ns = *self.since_ns.get_or_insert(at_ns);
        match kind {
            Kind::Name => self.name = arg,
            Kind::High => self.high = Some(arg),
            Kind::Asleep => self.asleep_us = arg,
            _ => {
                let said = Said { name: std::mem::take(&mut self.name), high: self.high.take() };
                // Whoever acts is awake, by whatever woke it.
                self.rise(step);
                self.apply(event, said, since_ns, step);
                return Some(said);
            }
        }
        None
    }

    fn apply(&mut self, event: &Event, said: Said, since_ns: u64, step: &mut dyn FnMut(Step)) {
        let &Event { at_ns: start_ns, kind, arg, .. } = event;
        let mut slice = Slice { kind, arg, name: said.name, from: None, start_ns };
        match kind {
            Kind::JobStart | Kind::PollStart | Kind::TickStart | Kind::SpanStart | Kind::Block => {
                if kind != Kind::Block {
                    slice.from = self.loot.take();
                }
                self.open.push(slice);
                step(Step::Began(slice));
            }
            Kind::Park | Kind::Search => {
                if kind == Kind::Park {
                    // Nobody parks inside of anything: what is still open has lost its end.
                    self.close(step);
                    self.loot = None;
                }
                self.idle = Some(slice);
                step(Step::Began(slice));
            }
            Kind::Gap => {
                self.close(step);
                *self = Self { since_ns: Some(start_ns), ..Self::default() };
            }
            Kind::Steal => self.loot = Some(arg),
            // What a thread says beside what it does, unless it is an end.
            _ => kind.start().into_iter().for_each(|kind| self.end(kind, since_ns, step)),
        }
    }

    /// The innermost slice of this kind ends. What is still open inside of it has lost its end.
    fn end(&mut self, kind: Kind, since_ns: u64, step: &mut dyn FnMut(Step)) {
        let asleep_us = std::mem::take(&mut self.asleep_us);
        let Some(depth) = self.open.iter().rposition(|slice| slice.kind == kind) else {
            return step(Step::EndedUnbegun { kind, since_ns });
        };
        while let Some(slice) = self.open.pop() {
            let is_it = self.open.len() == depth;
            step(Step::Ended { slice, asleep_us: if is_it { asleep_us } else { 0 }, is_known: true });
            if is_it {
                return;
            }
        }
    }

    fn rise(&mut self, step: &mut dyn FnMut(Step)) {
        if let Some(slice) = self.idle.take() {
            step(Step::Ended { slice, asleep_us: 0, is_known: true });
        }
    }

    /// Somebody has woken it, if it is parked.
    pub fn wake(&mut self, step: &mut dyn FnMut(Step)) {
        if self.idle.is_some_and(|slice| slice.kind == Kind::Park) {
            self.rise(step);
        }
    }

    /// There is nothing more to come, or something is missing before what comes: whatever it is inside of has ended at some time.
    pub fn close(&mut self, step: &mut dyn FnMut(Step)) {
        self.rise(step);
        while let Some(slice) = self.open.pop() {
            step(Step::Ended { slice, asleep_us: 0, is_known: false });
        }
    }

    /// It is inside of something of this kind, which had begun before anybody looked.
    #[cfg(feature = "output")]
    pub(crate) fn presume(&mut self, kind: Kind, at_ns: u64) {
        self.open.push(Slice { kind, arg: 0, name: 0, from: None, start_ns: at_ns });
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use Kind::*;

    /// What the steps of these events are, as text.
    fn steps(events: &[(u64, Kind, u32)]) -> Vec<String> {
        let mut inside = Inside::default();
        let mut texts = Vec::new();
        for &(at_ns, kind, arg) in events {
            let event = Event { at_ns, kind, thread: 0, worker: None, arg };
            inside.take(&event, &mut |step| {
                texts.push(match step {
                    Step::Began(Slice { kind, arg, name, from, start_ns }) => {
                        let from = from.map_or_else(String::new, |from| format!(" from {from}"));
                        format!("{start_ns} {}({arg}){from} called {name}", kind.name())
                    }
                    Step::Ended { slice, asleep_us, is_known } => {
                        let asleep = if asleep_us > 0 { format!(" slept {asleep_us}") } else { "".into() };
                        let lost = if is_known { "" } else { " lost" };
                        format!("{at_ns} end of {}({}){asleep}{lost}", slice.kind.name(), slice.arg)
                    }
                    Step::EndedUnbegun { kind, since_ns } => {
                        format!("{at_ns} end of {} since {since_ns}", kind.name())
                    }
                });
            });
        }
        texts
    }

    #[test]
    fn names_steals_and_sleep_belong_to_what_comes_next() {
        assert_eq!(
            steps(&[
                (1, Steal, 7),
                (2, Name, 5),
                (2, PollStart, 8),
                (3, JobStart, 0),
                (4, JobEnd, 0),
                (5, Asleep, 20),
                (5, PollEnd, 8)
            ]),
            [
                "2 poll start(8) from 7 called 5",
                "3 job start(0) called 0",
                "4 end of job start(0)",
                "5 end of poll start(8) slept 20"
            ]
        );
    }

    #[test]
    fn an_end_ends_what_is_inside_and_without_a_beginning_it_says_so() {
        assert_eq!(
            steps(&[(1, TickStart, 3), (2, Block, 0), (4, TickEnd, 3), (5, Unblock, 0)]),
            [
                "1 tick start(3) called 0",
                "2 block(0) called 0",
                "4 end of block(0)",
                "4 end of tick start(3)",
                "5 end of block since 1"
            ]
        );
    }

    #[test]
    fn parks_and_gaps_end_everything_and_the_next_event_ends_a_park() {
        assert_eq!(
            steps(&[
                (1, JobStart, 0),
                (2, Park, 0),
                (3, Search, 0),
                (4, SpanStart, 0),
                (5, Gap, 9),
                (6, SpanEnd, 0)
            ]),
            [
                "1 job start(0) called 0",
                "2 end of job start(0) lost",
                "2 park(0) called 0",
                "3 end of park(0)",
                "3 search(0) called 0",
                "4 end of search(0)",
                "4 span start(0) called 0",
                "5 end of span start(0) lost",
                "6 end of span start since 5"
            ]
        );
    }

    #[test]
    fn a_wake_ends_a_park_and_nothing_else() {
        let mut inside = Inside::default();
        let mut ended = 0;
        let mut take = |inside: &mut Inside, kind| {
            inside.take(&Event { at_ns: 0, kind, thread: 0, worker: None, arg: 0 }, &mut |_| {});
            inside.wake(&mut |_| ended += 1);
        };
        take(&mut inside, Search);
        assert!(inside.idle().is_some());
        take(&mut inside, Park);
        assert!(inside.idle().is_none());
        take(&mut inside, Block);
        assert_eq!((inside.open().len(), ended), (1, 1));
    }
}
