//! Ends of arrows on other threads than the one whose event is written.
//!
//! Viewers fasten an arrow to the slice that its thread is inside of at that time, and complain where there is none. Threads' events are written in
//! batches, one thread after the other: what another one was inside of is known only once its events up to that time have been seen, and may have
//! been seen long before.

use std::collections::{BTreeMap, VecDeque};

/// As many slices of a thread are remembered: those of a batch, which is half a ring.
const MOST: usize = 1 << 12;

/// An end of an arrow, or any item, that is to be written if its thread is inside of something at that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    pub at_ns: u64,
    pub item: String,
}

/// When a thread was inside of anything, and what waits for that to be known.
#[derive(Debug, Default)]
pub struct Track {
    /// Its outermost slices that have ended, from when until when; the last ones.
    ended: VecDeque<(u64, u64)>,
    /// Since when it is inside of one.
    open_since: Option<u64>,
    /// Its last event.
    seen_ns: u64,
    waiting: Vec<End>,
}

impl Track {
    /// Its next event is at `at_ns`, before what that changes. Returns what is to be written now.
    pub fn see(&mut self, at_ns: u64) -> Vec<String> {
        self.seen_ns = self.seen_ns.max(at_ns);
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().filter_map(|end| self.put(end)).collect()
    }

    /// Returns what is to be written now: if the thread is inside of something then. It waits, if that is not known yet.
    pub fn put(&mut self, end: End) -> Option<String> {
        if end.at_ns >= self.seen_ns {
            self.waiting.push(end);
            return None;
        }
        self.is_inside(end.at_ns).then_some(end.item)
    }

    fn is_inside(&self, at_ns: u64) -> bool {
        let later = self.ended.partition_point(|&(_, until_ns)| until_ns <= at_ns);
        self.open_since.is_some_and(|since_ns| since_ns <= at_ns)
            || self.ended.get(later).is_some_and(|&(from_ns, _)| from_ns <= at_ns)
    }

    /// A slice has begun, with so many around it.
    pub fn began(&mut self, at_ns: u64, around: usize) {
        if around == 0 {
            self.open_since = Some(at_ns);
        }
    }

    /// One has ended, with so many around it.
    pub fn ended(&mut self, at_ns: u64, around: usize) {
        if around > 0 {
            return;
        }
        if let Some(since_ns) = self.open_since.take() {
            if self.ended.len() == MOST {
                self.ended.pop_front();
            }
            self.ended.push_back((since_ns, at_ns));
        }
    }
}

/// As many wakes and polls wait for each other at most; beyond that they are forgotten, and arrows are missing.
const MOST_WAKES: usize = 1 << 16;

/// When a task was polled, and by which thread of which pool.
type Poll = (u64, (u32, u32));

/// Which wake a poll belongs to. Viewers take each number of an arrow once, and a task is woken often.
#[derive(Debug, Default)]
pub struct Wakes {
    /// By task: when it was made ready, and the number of the arrow that begins there.
    ready: BTreeMap<u32, Vec<(u64, u64)>>,
    /// By task.
    polled: BTreeMap<u32, Vec<Poll>>,
    waiting: usize,
}

impl Wakes {
    /// A task is made ready, by arrow `number`. Returns where that ends, if the poll has been seen before.
    pub fn ready(&mut self, task: u32, at_ns: u64, number: u64) -> Option<Poll> {
        let polls = self.polled.get_mut(&task);
        let found = polls.and_then(|polls| {
            let of = (0..polls.len()).filter(|&n| polls[n].0 >= at_ns).min_by_key(|&n| polls[n].0)?;
            Some(polls.swap_remove(of))
        });
        match found {
            Some(_) => self.waiting -= 1,
            None => {
                self.make_room();
                self.ready.entry(task).or_default().push((at_ns, number));
            }
        }
        found
    }

    /// A task is polled. Returns the arrow that ends there, if its beginning has been seen.
    pub fn polled(&mut self, task: u32, at_ns: u64, by: (u32, u32)) -> Option<u64> {
        let wakes = self.ready.get_mut(&task);
        let found = wakes.and_then(|wakes| {
            let of = (0..wakes.len()).filter(|&n| wakes[n].0 <= at_ns).max_by_key(|&n| wakes[n].0)?;
            Some(wakes.swap_remove(of).1)
        });
        // Tasks come and go.
        if found.is_some() && self.ready.get(&task).is_some_and(Vec::is_empty) {
            self.ready.remove(&task);
        }
        match found {
            Some(_) => self.waiting -= 1,
            None => {
                self.make_room();
                self.polled.entry(task).or_default().push((at_ns, by));
            }
        }
        found
    }

    fn make_room(&mut self) {
        if self.waiting == MOST_WAKES {
            *self = Self::default();
        }
        self.waiting += 1;
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_poll_belongs_to_the_wake_before_it_whichever_is_seen_first() {
        let (mut wakes, by) = (Wakes::default(), (1, 2));
        // The wakes first,
        assert_eq!(wakes.ready(7, 10, 1), None);
        assert_eq!(wakes.ready(7, 30, 2), None);
        assert_eq!(wakes.polled(7, 20, by), Some(1));
        assert_eq!(wakes.polled(7, 40, by), Some(2));
        // the polls first,
        assert_eq!(wakes.polled(7, 60, by), None);
        assert_eq!(wakes.polled(7, 80, by), None);
        assert_eq!(wakes.ready(7, 50, 3), Some((60, by)));
        assert_eq!(wakes.ready(7, 70, 4), Some((80, by)));
        // and those of another task, and of the time before, not at all.
        assert_eq!(wakes.polled(7, 90, by), None);
        assert_eq!(wakes.ready(7, 95, 5), None);
        assert_eq!(wakes.polled(8, 99, by), None);
    }

    #[test]
    fn wakes_that_nobody_polls_are_forgotten() {
        let mut wakes = Wakes::default();
        for n in 0..3 * MOST_WAKES as u64 {
            wakes.ready(n as u32, n, n);
        }
        assert!(wakes.ready.len() <= MOST_WAKES);
    }

    /// What is written of ends at these times, each called by its time, that come after a thread's slices or before.
    fn written(is_after: bool, ends: &[u64]) -> Vec<String> {
        let (mut track, mut written) = (Track::default(), Vec::new());
        let put_all = |track: &mut Track, written: &mut Vec<String>| {
            written
                .extend(ends.iter().filter_map(|&at_ns| track.put(End { at_ns, item: at_ns.to_string() })));
        };
        if !is_after {
            put_all(&mut track, &mut written);
        }
        for (from_ns, until_ns) in [(10, 20), (20, 25), (30, 40)] {
            written.extend(track.see(from_ns));
            track.began(from_ns, 0);
            track.began(from_ns + 1, 1);
            track.ended(from_ns + 2, 1);
            written.extend(track.see(until_ns));
            track.ended(until_ns, 0);
        }
        if is_after {
            put_all(&mut track, &mut written);
        }
        written.extend(track.see(50));
        written
    }

    #[test]
    fn an_end_is_written_if_its_thread_is_inside_of_something_whichever_is_known_first() {
        let ends = [9, 10, 15, 20, 24, 25, 29, 30, 39, 40, 49];
        let inside = ["10", "15", "20", "24", "30", "39"];
        for is_after in [false, true] {
            assert_eq!(written(is_after, &ends), inside, "after: {is_after}");
        }
    }

    #[test]
    fn only_the_last_slices_are_remembered() {
        let mut track = Track::default();
        for n in 0..2 * MOST as u64 {
            track.see(10 * n);
            track.began(10 * n, 0);
            track.ended(10 * n + 5, 0);
        }
        assert_eq!(track.ended.len(), MOST);
        assert!(!track.is_inside(3) && track.is_inside(20 * MOST as u64 - 8));
    }
}
