//! A snapshot of who is idle, in one word that every announcement of work reads.

use heist_policy as policy;

/// How many indices nobody holds and how many threads search; a pure value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters(u64);

impl Counters {
    const FREE: u64 = 1 << 32;

    pub const fn new(free: usize) -> Self {
        Self(free as u64 * Self::FREE)
    }

    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Threads that look for work everywhere.
    pub const fn searching(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }

    /// Indices that nobody holds.
    pub const fn free(self) -> usize {
        (self.0 >> 32) as usize
    }

    #[must_use]
    pub const fn add(self, searching: i32, free: i32) -> Self {
        let s = self.searching() as i64 + searching as i64;
        let f = self.free() as i64 + free as i64;
        debug_assert!(s >= 0 && f >= 0);
        Self((f as u64) << 32 | s as u64)
    }

    pub const fn view(self) -> policy::IdleView {
        policy::IdleView { searching: self.searching(), idle_permits: self.free() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch_each_other() {
        for free in [0, 1, 2, 1024] {
            for searching in [0, 1, 512] {
                let c = Counters::new(free).add(searching, 0);
                assert_eq!((c.searching(), c.free()), (searching as usize, free));
                assert_eq!(c.add(1, 1).add(-1, -1), c);
                assert_eq!(Counters::from_bits(c.bits()), c);
            }
        }
    }
}
