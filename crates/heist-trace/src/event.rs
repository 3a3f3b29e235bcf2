//! What can happen, and how an event fits into two words.

use crate::now_ns;

/// Bits of the first word that hold the kind; the rest is the time.
const KIND_BITS: u32 = 6;
/// The second word's low 16 bits for a thread without an index.
const NO_WORKER: u16 = u16::MAX;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        /// What happened. Each kind says what its event's `arg` means; where it says nothing, `arg` is 0.
        ///
        /// Codes are part of the binary format: a new kind takes a new code, and a code is never used again.
        ///
        /// ```
        /// use heist::trace::Kind;
        /// assert_eq!(Kind::Steal.name(), "steal");
        /// assert_eq!(Kind::from_code(Kind::Steal.code()), Some(Kind::Steal));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $name = $code,)*
        }

        impl Kind {
            /// All kinds, in the order of their codes.
            ///
            /// ```
            /// assert!(heist::trace::Kind::ALL.is_sorted_by_key(|kind| kind.code()));
            /// ```
            pub const ALL: &'static [Kind] = &[$(Kind::$name),*];

            /// The kind with this code, if there is one.
            ///
            /// ```
            /// assert_eq!(heist::trace::Kind::from_code(0), None);
            /// ```
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Kind> {
                match code {
                    $($code => Some(Kind::$name),)*
                    _ => None,
                }
            }

            /// The name in trace files.
            ///
            /// ```
            /// assert_eq!(heist::trace::Kind::JobStart.name(), "job start");
            /// ```
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$name => $text,)*
                }
            }
        }

        // Zero is no kind, so that a slot that was never written cannot pass for an event.
        const _: () = { $(assert!($code > 0 && $code < 1 << KIND_BITS);)* };
    };
}

kinds! {
    /// The thread begins a job. `arg`: its number, as in [`Spawn`](Kind::Spawn), or 0 for the half of a fork, and for what a thread of the
    /// program's own has called and runs itself. Jobs nest: a wait may run its own jobs. The first one after a [`Steal`](Kind::Steal) is the stolen one.
    JobStart = 1, "job start";
    /// The thread's innermost job ended. `arg`: as in [`JobStart`](Kind::JobStart).
    JobEnd = 2, "job end";
    /// The thread took a job from another. `arg`: the victim's thread number.
    Steal = 3, "steal";
    /// The thread found nothing and goes to sleep; never inside a job. It sleeps until somebody [wakes](Kind::Wake) it or
    /// until its own next event.
    Park = 4, "park";
    /// The thread woke another, or, with its own number, woke by itself. `arg`: the woken thread's number.
    Wake = 5, "wake";
    /// The thread goes to sleep inside a wait or an announced blocking call.
    Block = 6, "block";
    /// The thread goes on after [`Block`](Kind::Block).
    Unblock = 7, "unblock";
    /// The thread lends its permit. `arg`: its index.
    Lend = 8, "lend";
    /// The thread has a permit again after a wait, the one that it lent or another. `arg`: its index. A thread that goes on without
    /// one records nothing.
    Return = 9, "return";
    /// Events of this thread that came before this one were lost. `arg`: how many, or `u32::MAX` if more. Inserted when a
    /// trace is built, never recorded.
    Gap = 10, "gap";
    /// The thread queues a job. `arg`: its number, which no other job has before this one has ended.
    Spawn = 11, "spawn";
    /// The thread begins to poll a task. `arg`: the task's number, which no other task has before this one has ended.
    PollStart = 12, "poll start";
    /// The poll is over. `arg`: as in [`PollStart`](Kind::PollStart).
    PollEnd = 13, "poll end";
    /// The thread begins to run a tick, or what was submitted to one. `arg`: the tick's number.
    TickStart = 14, "tick start";
    /// The thread is done with the tick for now. `arg`: as in [`TickStart`](Kind::TickStart).
    TickEnd = 15, "tick end";
    /// The tick that the thread has just begun is late. `arg`: by how many microseconds.
    Late = 16, "late";
    /// The thread makes a task ready, by spawning or waking it: one poll follows. `arg`: the task's number.
    Ready = 17, "ready";
    /// The thread begins to look for work everywhere. It looks until its next event.
    Search = 18, "search";
    /// The program enters a span of its own.
    SpanStart = 19, "span start";
    /// The program leaves its innermost span on this thread.
    SpanEnd = 20, "span end";
    /// The program counts something. `arg`: the lower half of the value.
    Counter = 21, "counter";
    /// What the thread's next event is called. `arg`: the [number of the name](crate::name).
    Name = 22, "name";
    /// The upper half of the argument of the thread's next event. Without it, the lower half's sign goes on.
    High = 23, "high";
    /// The thread was asleep in the kernel during the job, poll or tick that ends next. `arg`: for how many microseconds.
    Asleep = 24, "asleep";
}

impl Kind {
    /// What the thread begins with this event, if it ends with another one: a job, a poll, a tick.
    ///
    /// ```
    /// use heist::trace::Kind;
    /// assert_eq!(Kind::PollStart.end(), Some(Kind::PollEnd));
    /// assert_eq!(Kind::Wake.end(), None);
    /// ```
    #[must_use]
    pub const fn end(self) -> Option<Kind> {
        match self {
            Kind::JobStart => Some(Kind::JobEnd),
            Kind::PollStart => Some(Kind::PollEnd),
            Kind::TickStart => Some(Kind::TickEnd),
            _ => None,
        }
    }

    /// What the thread has begun with if it ends with this event.
    pub(crate) const fn start(self) -> Option<Kind> {
        match self {
            Kind::JobEnd => Some(Kind::JobStart),
            Kind::PollEnd => Some(Kind::PollStart),
            Kind::TickEnd => Some(Kind::TickStart),
            Kind::SpanEnd => Some(Kind::SpanStart),
            Kind::Unblock => Some(Kind::Block),
            _ => None,
        }
    }

    /// The kind's code in packed events and binary files.
    ///
    /// ```
    /// assert_eq!(heist::trace::Kind::JobStart.code(), 1);
    /// ```
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// One thing that happened on one thread.
///
/// ```
/// use heist::trace::{Event, Kind};
/// let e = Event { at_ns: 1_500, kind: Kind::Steal, thread: 2, worker: Some(1), arg: 0 };
/// assert_eq!(Event::unpack(e.pack()), Some(e));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// When, by [`now_ns`]. Packed, it saturates at [`Event::MAX_NS`].
    pub at_ns: u64,
    /// What.
    pub kind: Kind,
    /// The number of the thread that recorded it.
    pub thread: u16,
    /// The index that the thread held, if any. `Some(u16::MAX)` is beyond the largest pool and is packed as `None`.
    pub worker: Option<u16>,
    /// What this means depends on the [`Kind`].
    pub arg: u32,
}

impl Event {
    /// The latest time that a packed event can hold: more than nine years after the start.
    ///
    /// ```
    /// let years = heist::trace::Event::MAX_NS / 1_000_000_000 / 86_400 / 365;
    /// assert_eq!(years, 9);
    /// ```
    pub const MAX_NS: u64 = (1 << (64 - KIND_BITS)) - 1;

    /// An event that happens now.
    ///
    /// ```
    /// use heist::trace::{Event, Kind};
    /// let parked = Event::now(Kind::Park, 0, Some(0), 0);
    /// assert!(parked.at_ns <= heist::trace::now_ns());
    /// ```
    #[must_use]
    pub fn now(kind: Kind, thread: u16, worker: Option<u16>, arg: u32) -> Self {
        Self { at_ns: now_ns(), kind, thread, worker, arg }
    }

    /// Packs the event into two words, the time in the high bits of the first.
    ///
    /// ```
    /// use heist::trace::{Event, Kind};
    /// let e = Event { at_ns: 1, kind: Kind::Wake, thread: 2, worker: None, arg: 3 };
    /// assert_eq!(e.pack(), [1 << 6 | 5, 3 << 32 | 2 << 16 | 0xffff]);
    /// ```
    #[must_use]
    #[inline]
    pub const fn pack(self) -> [u64; 2] {
        let at_ns = if self.at_ns < Self::MAX_NS { self.at_ns } else { Self::MAX_NS };
        let worker = match self.worker {
            Some(index) => index,
            None => NO_WORKER,
        };
        [
            at_ns << KIND_BITS | self.kind.code() as u64,
            (self.arg as u64) << 32 | (self.thread as u64) << 16 | worker as u64,
        ]
    }

    /// The event in two packed words, or `None` if they name no known kind.
    ///
    /// ```
    /// assert_eq!(heist::trace::Event::unpack([0, 0]), None);
    /// ```
    #[must_use]
    #[inline]
    pub const fn unpack([first, second]: [u64; 2]) -> Option<Self> {
        let Some(kind) = Kind::from_code(Self::packed_code(first)) else { return None };
        let worker = match second as u16 {
            NO_WORKER => None,
            index => Some(index),
        };
        Some(Self {
            at_ns: first >> KIND_BITS,
            kind,
            thread: (second >> 16) as u16,
            worker,
            arg: (second >> 32) as u32,
        })
    }

    /// The code of the kind in a first packed word, known or not.
    pub(crate) const fn packed_code(first: u64) -> u8 {
        (first & ((1 << KIND_BITS) - 1)) as u8
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_unique_and_only_they_are_kinds() {
        for code in 0..=u8::MAX {
            let with_code = Kind::ALL.iter().filter(|kind| kind.code() == code).count();
            assert_eq!(with_code, usize::from(Kind::from_code(code).is_some()), "code {code}");
        }
        for kind in Kind::ALL {
            assert_eq!(Kind::from_code(kind.code()), Some(*kind));
            assert_eq!(Kind::ALL.iter().filter(|other| other.name() == kind.name()).count(), 1, "{kind:?}");
        }
    }

    #[test]
    fn every_field_survives_at_its_edges() {
        for &at_ns in &[0, 1, 63, 64, Event::MAX_NS / 2, Event::MAX_NS - 1, Event::MAX_NS] {
            for &kind in Kind::ALL {
                for &thread in &[0, 1, 0x7fff, 0x8000, u16::MAX - 1, u16::MAX] {
                    for &worker in &[None, Some(0), Some(1), Some(0x7fff), Some(0x8000), Some(u16::MAX - 1)] {
                        for &arg in &[0, 1, 0xffff, 0x1_0000, u32::MAX - 1, u32::MAX] {
                            let event = Event { at_ns, kind, thread, worker, arg };
                            assert_eq!(Event::unpack(event.pack()), Some(event));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_saturates_and_spoils_nothing_else() {
        let event = Event { at_ns: u64::MAX, kind: Kind::Park, thread: 7, worker: Some(u16::MAX), arg: 9 };
        let packed = Event { at_ns: Event::MAX_NS, worker: None, ..event };
        assert_eq!(Event::unpack(event.pack()), Some(packed));
    }

    #[test]
    fn unpacking_refuses_exactly_the_unknown_codes() {
        for code in 0..1 << KIND_BITS {
            let event = Event::unpack([77 << KIND_BITS | u64::from(code), u64::MAX]);
            assert_eq!(event.map(|e| e.kind), Kind::from_code(code));
        }
    }
}
