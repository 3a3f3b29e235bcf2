//! What is known about a socket, as one word.

use std::fmt;
use std::ops::BitOr;

/// Which half of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// A set of facts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts(u32);

impl Facts {
    pub const NONE: Self = Self(0);
    pub const READABLE: Self = Self(1);
    pub const WRITABLE: Self = Self(2);
    pub const READ_CLOSED: Self = Self(4);
    pub const WRITE_CLOSED: Self = Self(8);
    /// Nobody watches the socket any more.
    pub const ABANDONED: Self = Self(16);

    /// There is something to read, or room to write.
    pub fn open(direction: Direction) -> Self {
        match direction {
            Direction::Read => Self::READABLE,
            Direction::Write => Self::WRITABLE,
        }
    }

    /// As `open`, or the direction has ended.
    pub fn open_or_ended(direction: Direction) -> Self {
        match direction {
            Direction::Read => Self::READABLE | Self::READ_CLOSED,
            Direction::Write => Self::WRITABLE | Self::WRITE_CLOSED,
        }
    }

    /// Those that let an operation in this direction be tried.
    pub fn for_direction(direction: Direction) -> Self {
        Self::open_or_ended(direction) | Self::ABANDONED
    }

    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Facts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#07b}", self.0)
    }
}

const FACTS: u32 = 0xff;
const TICK: u32 = FACTS + 1;

/// Facts, and the number of the last event (modulo 2^24).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Readiness(pub u32);

impl Readiness {
    pub fn new(facts: Facts) -> Self {
        Self(facts.0)
    }

    pub fn facts(self) -> Facts {
        Facts(self.0 & FACTS)
    }

    /// Whether an operation in this direction may be tried.
    pub fn allows(self, direction: Direction) -> bool {
        self.facts().intersects(Facts::for_direction(direction))
    }

    /// After an event.
    pub fn with(self, facts: Facts) -> Self {
        Self((self.0 | facts.0).wrapping_add(TICK))
    }

    /// Whether nobody will ever say more.
    pub fn is_abandoned(self) -> bool {
        self.facts().intersects(Facts::ABANDONED)
    }

    /// Without what an operation has found not to hold, having seen `seen`. `None` if an event has come since: it may be about
    /// what the operation did not find.
    pub fn without(self, facts: Facts, seen: Readiness) -> Option<Self> {
        (self.0 / TICK == seen.0 / TICK).then_some(Self(self.0 & !facts.0))
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use Direction::{Read, Write};

    #[test]
    fn a_clear_does_not_wipe_out_a_newer_event() {
        let seen = Readiness::new(Facts::READABLE | Facts::WRITABLE);
        assert!(seen.allows(Read) && seen.allows(Write));
        let cleared = seen.without(Facts::READABLE, seen).unwrap();
        assert!(!cleared.allows(Read) && cleared.allows(Write));
        assert_eq!(seen.with(Facts::READABLE).without(Facts::READABLE, seen), None);
        // The other direction's clear is no event.
        assert!(!cleared.without(Facts::WRITABLE, seen).unwrap().allows(Write));
    }

    #[test]
    fn the_end_stays_after_a_short_read() {
        let seen = Readiness::new(Facts::NONE).with(Facts::READABLE | Facts::READ_CLOSED);
        assert!(seen.without(Facts::open(Read), seen).unwrap().allows(Read));
        assert!(!seen.without(Facts::open_or_ended(Read), seen).unwrap().allows(Read));
        assert!(!seen.allows(Write));
        let abandoned = Readiness::new(Facts::ABANDONED);
        assert!(abandoned.allows(Read) && abandoned.allows(Write) && abandoned.is_abandoned());
    }

    #[test]
    fn the_event_number_wraps() {
        let mut readiness = Readiness(!FACTS | Facts::READABLE.0);
        let seen = readiness;
        readiness = readiness.with(Facts::NONE);
        assert_eq!(readiness, Readiness::new(Facts::READABLE));
        assert_eq!(readiness.without(Facts::READABLE, seen), None);
    }
}
