#![doc = include_str!("README.md")]

use crate::Event;
use heist_sync::atomic::{AtomicU64, Ordering, fence};
use heist_sync::planted::is_planted;

#[cfg(all(test, heist_loom))]
mod loom;
#[cfg(all(test, not(heist_model)))]
mod tests;

/// How many events a read could not return because they were overwritten.
///
/// ```
/// use heist::trace::{Lost, Ring};
/// assert_eq!(Ring::new(8).snapshot(&mut Vec::new()), Lost(0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[must_use = "lost events are counted, never silent"]
pub struct Lost(
    /// The number of events.
    pub u64,
);

/// A place in a ring's sequence of events, to go on reading from. The default is the first event ever recorded.
///
/// ```
/// assert!(heist::trace::Position::default() == heist::trace::Position::START);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

impl Position {
    /// Before the first event.
    ///
    /// ```
    /// let from = heist::trace::Position::START;
    /// assert!(from <= heist::trace::Position::default());
    /// ```
    pub const START: Position = Position(0);
}

#[derive(Debug)]
struct Slot {
    first: AtomicU64,
    second: AtomicU64,
}

/// The newest events of one thread: one producer, any number of readers at any time.
///
/// ```
/// use heist::trace::{Event, Kind, Lost, Ring};
/// let ring = Ring::new(2);
/// for victim in 0..5 {
///     ring.record(Event::now(Kind::Steal, 0, Some(0), victim));
/// }
/// let mut events = Vec::new();
/// assert_eq!(ring.snapshot(&mut events), Lost(3));
/// assert_eq!(events.iter().map(|e| e.arg).collect::<Vec<_>>(), [3, 4]);
/// ```
// Aligned, so that a reader's look at one ring's counters does not take the line of another thread's.
#[derive(Debug)]
#[repr(align(128))]
pub struct Ring {
    begun: AtomicU64,
    done: AtomicU64,
    slots: Box<[Slot]>,
}

impl Ring {
    /// A ring that keeps the newest `capacity` events, rounded up to a power of two. Each takes 16 bytes.
    ///
    /// ```
    /// assert_eq!(heist::trace::Ring::new(1000).capacity(), 1024);
    /// ```
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let slot = |_| Slot { first: AtomicU64::new(0), second: AtomicU64::new(0) };
        let slots = (0..capacity.max(1).next_power_of_two()).map(slot).collect();
        Self { begun: AtomicU64::new(0), done: AtomicU64::new(0), slots }
    }

    /// How many events the ring keeps.
    ///
    /// ```
    /// assert_eq!(heist::trace::Ring::new(0).capacity(), 1);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Appends an event, over the oldest one if the ring is full. Wait-free: four stores and no loop.
    ///
    /// Only one thread may record into a ring at a time. If two do, nothing undefined happens, but events are mixed up and
    /// the counts are wrong; debug builds panic when they notice.
    ///
    /// ```
    /// use heist::trace::{Event, Kind, Ring};
    /// let ring = Ring::new(64);
    /// ring.record(Event::now(Kind::Park, 0, Some(0), 0));
    /// ```
    #[inline]
    pub fn record(&self, event: Event) {
        // ORDERING: relaxed, the producer reads back its own stores.
        let number = self.begun.load(Ordering::Relaxed);
        debug_assert_eq!(number, self.done.load(Ordering::Relaxed), "two threads record into one ring");
        let [first, second] = event.pack();
        let slot = &self.slots[number as usize & (self.slots.len() - 1)];
        // INVARIANT(I2): before either word. Relaxed suffices: the fence carries it.
        self.begun.store(number + 1, Ordering::Relaxed);
        // ORDERING(E2): release, with the reader's acquire fence: whoever sees a word stored below also sees `begun` above. A
        // release store of `begun` would not do: it orders what comes before it, and the words come after.
        if !is_planted("trace_no_fence") {
            fence(Ordering::Release);
        }
        slot.first.store(first, Ordering::Relaxed);
        slot.second.store(second, Ordering::Relaxed);
        // ORDERING(E1): release, with the acquire load in `since`: who sees the count sees the words.
        self.done.store(number + 1, Ordering::Release);
    }

    /// Whether the producer has just filled another half of the ring: a reader who comes now misses nothing.
    ///
    /// ```
    /// use heist::trace::{Event, Kind, Ring};
    /// let ring = Ring::new(4);
    /// ring.record(Event::now(Kind::Park, 0, Some(0), 0));
    /// assert!(!ring.is_at_half());
    /// ring.record(Event::now(Kind::Park, 0, Some(0), 0));
    /// assert!(ring.is_at_half());
    /// ```
    #[must_use]
    #[inline]
    pub fn is_at_half(&self) -> bool {
        let half = (self.slots.len() as u64 / 2).max(1);
        self.begun.load(Ordering::Relaxed) & (half - 1) == 0
    }

    /// Appends to `out` what the ring holds, oldest first, and says how many older events were overwritten since the ring
    /// was made. The ring keeps its events.
    ///
    /// ```
    /// use heist::trace::{Event, Kind, Lost, Ring};
    /// let ring = Ring::new(64);
    /// ring.record(Event::now(Kind::Park, 0, Some(0), 0));
    /// let mut events = Vec::new();
    /// assert_eq!(ring.snapshot(&mut events), Lost(0));
    /// assert_eq!(events[0].kind, Kind::Park);
    /// ```
    pub fn snapshot(&self, out: &mut Vec<Event>) -> Lost {
        self.since(Position::START, out).1
    }

    /// Appends to `out` the events from `from` on, oldest first, and says where to go on next time and how many events in
    /// between were overwritten before they could be read.
    ///
    /// Callable from any thread at any time. The producer does not notice, except that its lines are read.
    ///
    /// ```
    /// use heist::trace::{Event, Kind, Lost, Position, Ring};
    /// let ring = Ring::new(2);
    /// let mut events = Vec::new();
    /// ring.record(Event::now(Kind::Park, 0, Some(0), 0));
    /// let (next, lost) = ring.since(Position::START, &mut events);
    /// assert_eq!((events.len(), lost), (1, Lost(0)));
    /// for _ in 0..5 {
    ///     ring.record(Event::now(Kind::Park, 0, Some(0), 0));
    /// }
    /// let (_, lost) = ring.since(next, &mut events);
    /// assert_eq!((events.len(), lost), (3, Lost(3)));
    /// ```
    pub fn since(&self, from: Position, out: &mut Vec<Event>) -> (Position, Lost) {
        let capacity = self.slots.len() as u64;
        // ORDERING(E1): acquire, with the release store in `record`.
        let done = self.done.load(Ordering::Acquire);
        let from = from.0.min(done);
        let oldest = from.max(done.saturating_sub(capacity));
        // Copied first and judged once: judging slot by slot would read the producer's line for each.
        let copies: Vec<[u64; 2]> = (oldest..done)
            .map(|number| {
                let slot = &self.slots[(number & (capacity - 1)) as usize];
                // ORDERING: relaxed, both judged after the fence below.
                [slot.first.load(Ordering::Relaxed), slot.second.load(Ordering::Relaxed)]
            })
            .collect();
        // ORDERING(E2): acquire, with the producer's release fence: if a word above was a later event's, `begun` below says
        // so. An acquire load of `begun` would not do: it orders what comes after it, and the words come before.
        fence(Ordering::Acquire);
        let begun = self.begun.load(Ordering::Relaxed);
        let intact = if is_planted("trace_no_recheck") {
            oldest
        } else {
            begun.saturating_sub(capacity).clamp(oldest, done)
        };
        // A slot that passed holds one whole event, and every event has a known kind, so nothing is dropped here.
        out.extend(copies[(intact - oldest) as usize..].iter().filter_map(|&words| Event::unpack(words)));
        (Position(done), Lost(intact - from))
    }
}
