//! A snapshot of who is idle, in one word that every announcement of work reads.

use heist_policy as policy;

/// How many permits nobody holds, and how many threads search, overtake and want a permit; a pure value.
///
/// ```text
///  63       48 47         32 31     16 15        0
/// +-----------+-------------+---------+-----------+
/// |  wanting  |  overtaking |   free  | searching |
/// +-----------+-------------+---------+-----------+
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters(pub u64);

/// One of the four numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Threads that look for work everywhere.
    Searching = 0,
    /// Permits that nobody holds.
    Free = 16,
    /// Threads without a permit that are awake to run tasks.
    Overtaking = 32,
    /// Threads that go on without a permit after a wait, and would take one.
    Wanting = 48,
}

impl Count {
    /// What so many of them are, to be added to the word. Less than none takes away.
    pub const fn times(self, n: i32) -> u64 {
        ((n as i64) << self as u32).cast_unsigned()
    }
}

impl Counters {
    pub const fn new(free: usize) -> Self {
        Self((free as u64) << Count::Free as u32)
    }

    pub const fn get(self, count: Count) -> usize {
        (self.0 >> count as u32 & 0xffff) as usize
    }

    #[must_use]
    pub const fn add(self, count: Count, change: i32) -> Self {
        debug_assert!(
            self.get(count) as i64 + change as i64 >= 0 && (self.get(count) as i64 + change as i64) < 1 << 16
        );
        Self(self.0.wrapping_add(count.times(change)))
    }

    pub const fn view(self) -> policy::IdleView {
        policy::IdleView { searching: self.get(Count::Searching), idle_permits: self.get(Count::Free) }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch_each_other() {
        let all = [Count::Searching, Count::Free, Count::Overtaking, Count::Wanting];
        for values in [[0, 0, 0, 0], [1, 2, 3, 4], [0xffff, 0, 0xffff, 0], [0, 0xffff, 0, 0xffff]] {
            let mut counters = Counters::default();
            for (count, value) in all.into_iter().zip(values) {
                counters = counters.add(count, value);
            }
            assert_eq!(all.map(|count| counters.get(count) as i32), values);
            for (count, value) in all.into_iter().zip(values) {
                let gone = counters.add(count, -value);
                for (other, value) in all.into_iter().zip(values) {
                    assert_eq!(gone.get(other) as i32, if other == count { 0 } else { value });
                }
            }
        }
        assert_eq!(Counters::new(3).get(Count::Free), 3);
    }
}
