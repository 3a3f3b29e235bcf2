//! Where the wheel keeps its entries: places that never move, and lists that run through them.

use std::task::Waker;

/// An entry's place, or a list's.
pub(super) type Index = u32;

/// Entries are made in chunks, so that growing moves none of them and costs the lock's holder little.
const CHUNK: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Link {
    prev: Index,
    next: Index,
}

#[derive(Debug)]
pub(super) struct Entry {
    /// The tick at which it is due.
    pub when: u64,
    /// INVARIANT: there while the entry is in a list, gone as soon as it has fired.
    pub waker: Option<Waker>,
    link: Link,
}

/// A fixed number of circular lists and any number of entries. The lists' heads have the indices below their number, so an
/// entry leaves its list without knowing which one that is.
#[derive(Debug)]
pub(super) struct Slab {
    heads: Box<[Link]>,
    chunks: Vec<Box<[Entry]>>,
    /// Entries that were given back, linked by `next`.
    free: Option<Index>,
    used: usize,
}

impl Slab {
    pub fn new(lists: usize) -> Self {
        let lists = Index::try_from(lists).expect("the wheel has few lists");
        let heads = (0..lists).map(|i| Link { prev: i, next: i }).collect();
        Self { heads, chunks: Vec::new(), free: None, used: 0 }
    }

    /// An entry that is in no list.
    pub fn add(&mut self, when: u64, waker: Waker) -> Index {
        let index = self.free.unwrap_or_else(|| self.grow());
        let entry = self.entry_mut(index);
        let next = entry.link.next;
        entry.when = when;
        entry.waker = Some(waker);
        self.free = (next != index).then_some(next);
        self.used += 1;
        index
    }

    /// Gives an entry back that is in no list.
    pub fn free(&mut self, index: Index) {
        // The last of the free ones points to itself.
        let next = self.free.unwrap_or(index);
        let entry = self.entry_mut(index);
        debug_assert!(entry.waker.is_none());
        entry.link.next = next;
        self.free = Some(index);
        self.used -= 1;
    }

    /// Entries that were added and not given back.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Whether nothing was ever added.
    pub fn is_fresh(&self) -> bool {
        self.chunks.is_empty()
    }

    #[cfg(test)]
    pub fn places(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    fn grow(&mut self) -> Index {
        let first = self.heads.len() + self.chunks.len() * CHUNK;
        // 4 G timers of 32 bytes each: memory ends first.
        let last = Index::try_from(first + CHUNK - 1).expect("too many timers");
        let first = last - (CHUNK as Index - 1);
        let entry = |index| Entry {
            when: 0,
            waker: None,
            link: Link { prev: index, next: if index == last { last } else { index + 1 } },
        };
        self.chunks.push((first..=last).map(entry).collect());
        first
    }

    #[inline]
    pub fn entry(&self, index: Index) -> &Entry {
        let at = index as usize - self.heads.len();
        &self.chunks[at / CHUNK][at % CHUNK]
    }

    #[inline]
    pub fn entry_mut(&mut self, index: Index) -> &mut Entry {
        let at = index as usize - self.heads.len();
        &mut self.chunks[at / CHUNK][at % CHUNK]
    }

    #[inline]
    fn link_mut(&mut self, index: Index) -> &mut Link {
        match self.heads.get_mut(index as usize) {
            // Not returned from here: the borrow would last too long for the other arm.
            Some(_) => &mut self.heads[index as usize],
            None => &mut self.entry_mut(index).link,
        }
    }

    #[inline]
    pub fn is_empty(&self, list: Index) -> bool {
        self.heads[list as usize].next == list
    }

    /// The entry that has been in the list for longest.
    pub fn first(&self, list: Index) -> Option<Index> {
        let next = self.heads[list as usize].next;
        (next != list).then_some(next)
    }

    /// Adds an entry at the end of a list.
    #[inline]
    pub fn push(&mut self, list: Index, index: Index) {
        let last = std::mem::replace(&mut self.heads[list as usize].prev, index);
        self.link_mut(last).next = index;
        self.entry_mut(index).link = Link { prev: last, next: list };
    }

    /// Takes an entry out of its list.
    #[inline]
    pub fn unlink(&mut self, index: Index) {
        let Link { prev, next } = self.entry(index).link;
        self.link_mut(prev).next = next;
        self.link_mut(next).prev = prev;
    }

    /// Moves all entries of `from` to the end of `to`.
    pub fn append(&mut self, to: Index, from: Index) {
        if self.is_empty(from) {
            return;
        }
        let moved = std::mem::replace(&mut self.heads[from as usize], Link { prev: from, next: from });
        let last = std::mem::replace(&mut self.heads[to as usize].prev, moved.prev);
        self.link_mut(last).next = moved.next;
        self.link_mut(moved.next).prev = last;
        self.link_mut(moved.prev).next = to;
    }
}
