//! The state word of a fork slot: who runs its job, and whether anybody sleeps until that is over.

/// Which forks on a thief's stack are those of the job that it has stolen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Floor {
    /// They lie at or above this position,
    pub position: usize,
    /// while there are so many strangers on the thief's stack: a job that it runs on top, by `yield_now`, is one more.
    pub strangers: usize,
}

/// A snapshot of a slot's state; a pure value.
///
/// ```text
///  63 .. 51      50       49 .. 34     33     32    31     16 15      0
/// +---------+----------+-----------+------+------+---------+--------+
/// |    0    | measured | strangers | wait | done |  floor  | thief+1|
/// +---------+----------+-----------+------+------+---------+--------+
/// ```
///
/// | state | meaning | next |
/// |---|---|---|
/// | `FREE` | nobody has taken the job | thief: taken |
/// | taken | `thief` runs it; its own forks lie at or above `floor` of the thief's stack | owner: + wait; thief: done |
/// | + wait | the owner sleeps, or is about to | thief: done, and wakes the owner |
/// | done | result and panic are in the frame | owner: `FREE`, before it uses the slot again |
/// | + measured | with done: the slot says what the job came to, for a profile | |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State(pub u64);

impl State {
    /// Nobody has taken the job.
    pub const FREE: Self = Self(0);
    /// The bit a thief sets last.
    pub const DONE: u64 = 1 << 32;
    /// The bit an owner sets before it sleeps.
    pub const WAIT: u64 = 1 << 33;

    /// The bit a thief adds to `DONE` if it has measured the job.
    pub const MEASURED: u64 = 1 << 50;

    /// The bits a thief adds when it has claimed the slot.
    pub const fn taken_bits(thief: u16, floor: Floor) -> u64 {
        (thief as u64 + 1) | (floor.position as u64) << 16 | (floor.strangers as u64 & 0xffff) << 34
    }

    /// Whether result or panic have arrived.
    pub const fn is_done(self) -> bool {
        self.0 & Self::DONE != 0
    }

    /// Whether the thief has measured the job.
    pub const fn is_measured(self) -> bool {
        self.0 & Self::MEASURED != 0
    }

    /// Whether the owner must be woken.
    pub const fn has_waiter(self) -> bool {
        self.0 & Self::WAIT != 0
    }

    /// The thief and its floor, once it has signed.
    pub const fn thief(self) -> Option<(u16, Floor)> {
        match self.0 & 0xffff {
            0 => None,
            n => {
                let position = (self.0 >> 16 & 0xffff) as usize;
                Some(((n - 1) as u16, Floor { position, strangers: (self.0 >> 34 & 0xffff) as usize }))
            }
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn bits_are_apart() {
        for thief in [0, 1, 500, u16::MAX - 1] {
            for (position, strangers) in [(0, 0), (9, 1), (65_535, 65_535)] {
                let floor = Floor { position, strangers };
                let s = State(State::taken_bits(thief, floor));
                assert_eq!(s.thief(), Some((thief, floor)));
                assert!(!s.is_done() && !s.has_waiter() && !s.is_measured());
                let s = State(s.0 | State::WAIT);
                assert!(s.has_waiter() && !s.is_done());
                assert_eq!(s.thief(), Some((thief, floor)));
                assert!(State(s.0 | State::DONE).is_done());
            }
        }
        assert_eq!(State::FREE.thief(), None);
    }
}
