//! Items that are entered in a ledger when they are made and when they are dropped, and traps that make user code panic.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// User code that an iterator calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A closure or iterator that makes the items.
    Source,
    /// A closure of the adaptor.
    Adaptor,
    /// A closure of the end.
    End,
    /// `Clone` of an item.
    Clone,
    /// `Ord`, `Eq` or `Hash` of an item.
    Compare,
    /// `Drop` of an item.
    Drop,
}

impl Place {
    pub const ALL: [Place; 6] =
        [Place::Source, Place::Adaptor, Place::End, Place::Clone, Place::Compare, Place::Drop];
}

/// The `call`th time that `place` is reached, counted from 0, it panics.
#[derive(Debug, Clone, Copy)]
pub struct Trap {
    pub place: Place,
    pub call: usize,
}

/// What a trap panics with.
#[derive(Debug, PartialEq, Eq)]
pub struct Planted;

/// More items than any case makes.
const CAPACITY: usize = 1 << 14;
const WORD: usize = u64::BITS as usize;

/// The items of one case, and its trap.
pub struct Ledger {
    made: AtomicUsize,
    /// One bit for each item.
    dropped: Box<[AtomicU64]>,
    dropped_again: AtomicUsize,
    trap: Option<Trap>,
    /// The trap is set once the source is there.
    is_armed: AtomicBool,
    reached: [AtomicBool; Place::ALL.len()],
    calls: AtomicUsize,
    has_sprung: AtomicBool,
}

impl Ledger {
    pub fn new(trap: Option<Trap>) -> Arc<Self> {
        Arc::new(Ledger {
            made: AtomicUsize::new(0),
            dropped: (0..CAPACITY / WORD).map(|_| AtomicU64::new(0)).collect(),
            dropped_again: AtomicUsize::new(0),
            trap,
            is_armed: AtomicBool::new(false),
            reached: Place::ALL.map(|_| AtomicBool::new(false)),
            calls: AtomicUsize::new(0),
            has_sprung: AtomicBool::new(false),
        })
    }

    /// A new item. Items are equal if their ids are.
    pub fn item(self: &Arc<Self>, id: usize) -> Item {
        let number = self.made.fetch_add(1, Relaxed);
        assert!(number < CAPACITY);
        Item { id, number, ledger: self.clone(), pad: Box::new(id) }
    }

    pub fn items(self: &Arc<Self>, ids: std::ops::Range<usize>) -> Vec<Item> {
        ids.map(|id| self.item(id)).collect()
    }

    pub fn arm(&self) {
        self.is_armed.store(true, Relaxed);
    }

    /// Called wherever user code is.
    pub fn reach(&self, place: Place) {
        if !self.is_armed.load(Relaxed) {
            return;
        }
        self.reached[place as usize].store(true, Relaxed);
        if let Some(trap) = self.trap
            && trap.place == place
            && self.calls.fetch_add(1, Relaxed) == trap.call
        {
            self.has_sprung.store(true, Relaxed);
            resume_unwind(Box::new(Planted));
        }
    }

    /// Whether there was user code in `place`.
    pub fn has_reached(&self, place: Place) -> bool {
        self.reached[place as usize].load(Relaxed)
    }

    /// Whether the trap has sprung.
    pub fn has_sprung(&self) -> bool {
        self.has_sprung.load(Relaxed)
    }

    /// What is wrong now that everything should be gone, if anything is.
    pub fn complaint(&self, may_leak: bool) -> Option<String> {
        let made = self.made.load(Relaxed);
        let is_dropped = |number: &usize| self.dropped[number / WORD].load(Relaxed) & bit(*number) != 0;
        let leaked: Vec<usize> = (0..made).filter(|number| !is_dropped(number)).collect();
        let again = self.dropped_again.load(Relaxed);
        (again > 0 || !leaked.is_empty() && !may_leak)
            .then(|| format!("{made} items made, {again} dropped again, never dropped: {leaked:?}"))
    }
}

fn bit(number: usize) -> u64 {
    1 << (number % WORD)
}

/// An item with memory of its own, so that a sanitizer sees misuse, too.
pub struct Item {
    pub id: usize,
    number: usize,
    ledger: Arc<Ledger>,
    pad: Box<usize>,
}

impl Drop for Item {
    fn drop(&mut self) {
        assert_eq!(*self.pad, self.id);
        let bit = bit(self.number);
        if self.ledger.dropped[self.number / WORD].fetch_or(bit, Relaxed) & bit != 0 {
            self.ledger.dropped_again.fetch_add(1, Relaxed);
        }
        // A panic while another one unwinds aborts, by the rules of the language.
        if !std::thread::panicking() {
            self.ledger.reach(Place::Drop);
        }
    }
}

impl Clone for Item {
    fn clone(&self) -> Self {
        self.ledger.reach(Place::Clone);
        self.ledger.item(self.id)
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Item {}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Item {
    fn cmp(&self, other: &Self) -> Ordering {
        self.ledger.reach(Place::Compare);
        self.id.cmp(&other.id)
    }
}

impl Hash for Item {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ledger.reach(Place::Compare);
        self.id.hash(state);
    }
}
