//! The events of several threads, in one order.

use crate::{Event, Kind, Lost, Ring};
#[cfg(feature = "output")]
use crate::{ReadError, binary, chrome};
use std::collections::BTreeMap;
#[cfg(feature = "output")]
use std::io;

/// What was recorded by several threads, sorted by time.
///
/// ```
/// use heist::trace::{Event, Kind, Trace};
/// let at = |at_ns, thread| Event { at_ns, kind: Kind::Park, thread, worker: None, arg: 0 };
/// let trace = Trace::builder().thread(1, "worker 1").events([at(20, 1), at(10, 2)]).finish();
/// assert_eq!(trace.events()[0].thread, 2);
/// assert_eq!(trace.thread_name(1), Some("worker 1"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    // INVARIANT: sorted by `at_ns`; events of one thread and time in the order of their recording; each as it would be after
    // `unpack(pack())`.
    events: Vec<Event>,
    lost: u64,
    threads: BTreeMap<u16, String>,
    /// By the numbers that events of the kind [`Kind::Name`] have.
    names: BTreeMap<u32, String>,
    /// When recording stopped, if that is known.
    until_ns: u64,
}

impl Trace {
    /// An empty trace, to be filled from rings or other sources.
    ///
    /// ```
    /// assert!(heist::trace::Trace::builder().finish().events().is_empty());
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The events, by time.
    ///
    /// ```
    /// assert!(heist::trace::Trace::default().events().is_empty());
    /// ```
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// How many events are missing because rings were overwritten before they were read.
    ///
    /// ```
    /// assert_eq!(heist::trace::Trace::default().lost(), 0);
    /// ```
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The threads that were given names, by number.
    ///
    /// ```
    /// let trace = heist::trace::Trace::builder().thread(3, "spare").finish();
    /// assert!(trace.threads().eq([(3, "spare")]));
    /// ```
    pub fn threads(&self) -> impl Iterator<Item = (u16, &str)> {
        self.threads.iter().map(|(&number, name)| (number, name.as_str()))
    }

    /// The name of a thread, if it was given one.
    ///
    /// ```
    /// assert_eq!(heist::trace::Trace::default().thread_name(0), None);
    /// ```
    #[must_use]
    pub fn thread_name(&self, number: u16) -> Option<&str> {
        self.threads.get(&number).map(String::as_str)
    }

    /// The names that events refer to, by number.
    ///
    /// ```
    /// let trace = heist::trace::Trace::builder().name(7, "parse").finish();
    /// assert!(trace.names().eq([(7, "parse")]));
    /// ```
    pub fn names(&self) -> impl Iterator<Item = (u32, &str)> {
        self.names.iter().map(|(&number, name)| (number, name.as_str()))
    }

    /// The name with this number, if the trace has it.
    ///
    /// ```
    /// assert_eq!(heist::trace::Trace::default().name(1), None);
    /// ```
    #[must_use]
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(&number).map(String::as_str)
    }

    /// Writes the trace as Chrome trace-event JSON, which ui.perfetto.dev and chrome://tracing open.
    ///
    /// Jobs, polls, ticks, spans, parks and blocks are slices on their thread, called by their names; arrows lead from the victim to each
    /// stolen job and from each wake to the poll that follows; counters are graphs; the other events are marks with their argument.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    ///
    /// ```
    /// let mut json = Vec::new();
    /// heist::trace::Trace::default().write_chrome(&mut json)?;
    /// assert!(json.starts_with(b"["));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "output")]
    pub fn write_chrome(&self, mut w: impl io::Write) -> io::Result<()> {
        chrome::write(self, &mut w)
    }

    /// Writes the trace in heist's own format: 16 bytes per event, versioned, with a checksum.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    ///
    /// ```
    /// use heist::trace::Trace;
    /// let trace = Trace::builder().thread(0, "worker 0").finish();
    /// let mut file = Vec::new();
    /// trace.write_binary(&mut file)?;
    /// assert_eq!(Trace::read_binary(&file[..]).unwrap(), trace);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "output")]
    pub fn write_binary(&self, mut w: impl io::Write) -> io::Result<()> {
        binary::write(self, &mut w)
    }

    /// Reads what [`write_binary`](Trace::write_binary) wrote, and not a byte beyond it.
    ///
    /// # Errors
    ///
    /// [`ReadError`] says what was wrong. No input makes it panic or allocate more than a small multiple of what was read.
    ///
    /// ```
    /// use heist::trace::{ReadError, Trace};
    /// let error = Trace::read_binary(&b"{\"traceEvents\":[]}"[..]).unwrap_err();
    /// assert!(matches!(error, ReadError::NotATrace { .. }));
    /// ```
    #[cfg(feature = "output")]
    pub fn read_binary(mut r: impl io::Read) -> Result<Trace, ReadError> {
        binary::read(&mut r)
    }

    /// Converts a binary trace to Chrome trace-event JSON, without holding it in memory.
    ///
    /// # Errors
    ///
    /// Those of [`read_binary`](Self::read_binary), and those of the writer. What was written then is incomplete.
    ///
    /// ```
    /// use heist::trace::Trace;
    /// let (mut file, mut json) = (Vec::new(), Vec::new());
    /// Trace::default().write_binary(&mut file)?;
    /// Trace::convert_binary(&file[..], &mut json)?;
    /// assert!(json.ends_with(b"]\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "output")]
    pub fn convert_binary(mut r: impl io::Read, mut w: impl io::Write) -> Result<(), ReadError> {
        chrome::convert(&mut r, &mut w)
    }

    /// The time of the first event and of the last, or of the end of recording; zeros for an empty trace.
    #[cfg(feature = "output")]
    pub(crate) fn range_ns(&self) -> (u64, u64) {
        match (self.events.first(), self.events.last()) {
            (Some(first), Some(last)) => (first.at_ns, last.at_ns.max(self.until_ns)),
            _ => (0, 0),
        }
    }
}

/// Collects events into a [`Trace`].
///
/// ```
/// use heist::trace::{Ring, Trace};
/// let rings = [Ring::new(64), Ring::new(64)];
/// let mut builder = Trace::builder();
/// for (number, ring) in rings.iter().enumerate() {
///     builder = builder.ring(number as u16, format!("worker {number}"), ring);
/// }
/// assert_eq!(builder.finish().lost(), 0);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder makes nothing until `finish`"]
pub struct Builder {
    trace: Trace,
}

impl Builder {
    /// Names a thread; a later name replaces an earlier one.
    ///
    /// ```
    /// let trace = heist::trace::Trace::builder().thread(0, "old").thread(0, "new").finish();
    /// assert_eq!(trace.thread_name(0), Some("new"));
    /// ```
    pub fn thread(mut self, number: u16, name: impl Into<String>) -> Self {
        self.trace.threads.insert(number, name.into());
        self
    }

    /// Says what the events of the kind [`Kind::Name`] with this argument mean.
    ///
    /// ```
    /// assert_eq!(heist::trace::Trace::builder().name(1, "parse").finish().name(1), Some("parse"));
    /// ```
    pub fn name(mut self, number: u32, text: impl Into<String>) -> Self {
        self.trace.names.insert(number, text.into());
        self
    }

    /// Adds the names that the events refer to, if they were recorded in this process.
    ///
    /// ```
    /// use heist::trace::{Event, Kind, Trace, name};
    /// let number = name::number("parse");
    /// let named = Event { at_ns: 1, kind: Kind::Name, thread: 0, worker: None, arg: number };
    /// assert_eq!(Trace::builder().events([named]).resolve().finish().name(number), Some("parse"));
    /// ```
    pub fn resolve(mut self) -> Self {
        for event in self.trace.events.iter().filter(|event| event.kind == Kind::Name) {
            if let Some(text) = crate::name::text(event.arg) {
                self.trace.names.entry(event.arg).or_insert_with(|| text.into());
            }
        }
        self
    }

    /// Adds a [snapshot](Ring::snapshot) of the ring of thread `number`, and names the thread.
    ///
    /// ```
    /// let ring = heist::trace::Ring::new(64);
    /// let trace = heist::trace::Trace::builder().ring(0, "worker 0", &ring).finish();
    /// assert_eq!(trace.thread_name(0), Some("worker 0"));
    /// ```
    pub fn ring(self, number: u16, name: impl Into<String>, ring: &Ring) -> Self {
        let mut events = Vec::new();
        let lost = ring.snapshot(&mut events);
        self.thread(number, name).batch(number, events, lost)
    }

    /// Adds the events that one read of the ring of thread `number` returned, after `lost` others. Batches of one thread must
    /// come in the order in which they were read.
    ///
    /// If any were lost, a [`Kind::Gap`] is put before the batch.
    ///
    /// ```
    /// use heist::trace::{Event, Kind, Lost, Trace};
    /// let parked = Event { at_ns: 7, kind: Kind::Park, thread: 0, worker: Some(0), arg: 0 };
    /// let trace = Trace::builder().batch(0, [parked], Lost(12)).finish();
    /// assert_eq!(trace.events()[0], Event { kind: Kind::Gap, arg: 12, ..parked });
    /// assert_eq!(trace.lost(), 12);
    /// ```
    pub fn batch(mut self, number: u16, events: impl IntoIterator<Item = Event>, lost: Lost) -> Self {
        self.trace.lost = self.trace.lost.saturating_add(lost.0);
        let mut events = events.into_iter().peekable();
        // Without an event after it a gap has no time; the sum above still tells.
        let gap = events.peek().filter(|_| lost.0 > 0).map(|first| Event {
            at_ns: first.at_ns,
            kind: Kind::Gap,
            thread: number,
            worker: first.worker,
            arg: u32::try_from(lost.0).unwrap_or(u32::MAX),
        });
        self.events(gap).events(events)
    }

    /// Adds events from anywhere. Those of one thread with the same time keep their order.
    ///
    /// ```
    /// use heist::trace::{Event, Kind, Trace};
    /// let trace = Trace::builder().events([Event::now(Kind::Park, 0, None, 0)]).finish();
    /// assert_eq!(trace.events().len(), 1);
    /// ```
    pub fn events(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        // Brought to what a file can hold, so that a trace equals the one read back. Every kind has a code, so nothing is
        // dropped.
        self.trace.events.extend(events.into_iter().filter_map(|e| Event::unpack(e.pack())));
        self
    }

    /// Adds all of another trace: events, names and losses.
    ///
    /// ```
    /// use heist::trace::{Lost, Trace};
    /// let one = Trace::builder().thread(0, "a").batch(0, [], Lost(1)).finish();
    /// let two = Trace::builder().thread(1, "b").batch(1, [], Lost(2)).finish();
    /// let both = Trace::builder().trace(one).trace(two).finish();
    /// assert_eq!((both.lost(), both.threads().count()), (3, 2));
    /// ```
    pub fn trace(mut self, other: Trace) -> Self {
        self.trace.lost = self.trace.lost.saturating_add(other.lost);
        self.trace.until_ns = self.trace.until_ns.max(other.until_ns);
        self.trace.threads.extend(other.threads);
        self.trace.names.extend(other.names);
        self.trace.events.extend(other.events);
        self
    }

    /// Recording stopped then: what had not ended goes on to there. Without it, a trace ends with its last event.
    ///
    /// ```
    /// use heist::trace::{Event, Kind, Timeline, Trace};
    /// let start = Event { at_ns: 10, kind: Kind::JobStart, thread: 0, worker: Some(0), arg: 0 };
    /// let trace = Trace::builder().events([start]).until(50).finish();
    /// assert_eq!(Timeline::new(&trace).duration_ns(), 40);
    /// ```
    pub fn until(mut self, at_ns: u64) -> Self {
        self.trace.until_ns = self.trace.until_ns.max(at_ns);
        self
    }

    #[cfg(feature = "output")]
    pub(crate) fn lost(mut self, lost: u64) -> Self {
        self.trace.lost = lost;
        self
    }

    /// Sorts the events by time.
    ///
    /// ```
    /// assert_eq!(heist::trace::Trace::builder().finish(), heist::trace::Trace::default());
    /// ```
    #[must_use]
    pub fn finish(mut self) -> Trace {
        // Stable: a clock that did not advance must not swap a job's end and the next one's start.
        self.trace.events.sort_by_key(|e| e.at_ns);
        self.trace
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    fn event(at_ns: u64, thread: u16, arg: u32) -> Event {
        Event { at_ns, kind: Kind::Steal, thread, worker: Some(thread), arg }
    }

    #[test]
    fn rings_are_merged_by_time_with_their_names_and_losses() {
        let (a, b) = (Ring::new(2), Ring::new(8));
        for n in 0..5 {
            a.record(event(10 * n, 0, n as u32));
            b.record(event(10 * n + 5, 1, n as u32));
        }
        let trace = Trace::builder().ring(0, "a", &a).ring(1, "b", &b).finish();
        assert!(trace.events().is_sorted_by_key(|e| e.at_ns));
        assert_eq!(trace.lost(), 3);
        assert!(trace.threads().eq([(0, "a"), (1, "b")]));
        let gap = Event { kind: Kind::Gap, ..event(30, 0, 3) };
        let of_a: Vec<Event> = trace.events().iter().copied().filter(|e| e.thread == 0).collect();
        assert_eq!(of_a, [gap, event(30, 0, 3), event(40, 0, 4)]);
        assert_eq!(trace.events().iter().filter(|e| e.thread == 1).count(), 5);
    }

    #[test]
    fn events_of_one_thread_keep_their_order_when_the_clock_stands_still() {
        let trace =
            Trace::builder().events((0..100).map(|n| event(n / 40, (n % 2) as u16, n as u32))).finish();
        for thread in 0..2 {
            assert!(trace.events().iter().filter(|e| e.thread == thread).is_sorted_by_key(|e| e.arg));
        }
    }

    #[test]
    fn a_huge_loss_is_exact_in_the_sum_and_saturates_in_the_mark() {
        let lost = u64::from(u32::MAX) + 7;
        let trace = Trace::builder().batch(0, [event(1, 0, 0)], Lost(lost)).finish();
        assert_eq!(trace.lost(), lost);
        assert_eq!((trace.events()[0].kind, trace.events()[0].arg), (Kind::Gap, u32::MAX));
    }
}
