//! The word of one permit: which thread holds it, whether that thread has asked for its index, and whether another wants it back.

/// A snapshot of the word; a pure value.
///
/// ```text
///  31          2   1        0
/// +--------------+--------+----------+
/// |  thread + 1  | wanted | observed |
/// +--------------+--------+----------+
/// ```
///
/// | change | by | how |
/// |---|---|---|
/// | nobody -> thread, thread -> nobody, thread -> thread | anybody | under the ledger's lock |
/// | not observed -> observed | the holder | compare-and-swap, without the lock |
/// | observed -> not observed | the holder, at its loop's bottom | without the lock |
/// | wanted | anybody | under the lock |
///
/// INVARIANT(P1): a permit is taken from a thread that has not given it only by a compare-and-swap on a word that is not observed.
/// So a thread that has asked for its index keeps it until it gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold(pub u32);

impl Hold {
    /// Nobody holds the permit.
    pub const NOBODY: Self = Self(0);
    pub const OBSERVED: u32 = 1;
    pub const WANTED: u32 = 2;

    pub const fn by(thread: u16) -> Self {
        Self((thread as u32 + 1) << 2)
    }

    pub const fn thread(self) -> Option<u16> {
        match self.0 >> 2 {
            0 => None,
            n => Some((n - 1) as u16),
        }
    }

    pub fn is_by(self, thread: u16) -> bool {
        self.thread() == Some(thread)
    }

    pub const fn is_observed(self) -> bool {
        self.0 & Self::OBSERVED != 0
    }

    pub const fn is_wanted(self) -> bool {
        self.0 & Self::WANTED != 0
    }

    #[must_use]
    pub const fn observed(self, yes: bool) -> Self {
        Self(if yes { self.0 | Self::OBSERVED } else { self.0 & !Self::OBSERVED })
    }

    #[must_use]
    pub const fn wanted(self, yes: bool) -> Self {
        Self(if yes { self.0 | Self::WANTED } else { self.0 & !Self::WANTED })
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn bits_are_apart() {
        for thread in [0, 1, 500, u16::MAX - 1] {
            let hold = Hold::by(thread);
            assert!(hold.is_by(thread) && !hold.is_observed() && !hold.is_wanted());
            let hold = hold.observed(true).wanted(true);
            assert!(hold.is_by(thread) && hold.is_observed() && hold.is_wanted());
            assert!(!hold.observed(false).is_observed() && hold.observed(false).is_wanted());
            assert!(hold.wanted(false).is_observed() && !hold.wanted(false).is_wanted());
        }
        assert_eq!(Hold::NOBODY.thread(), None);
    }
}
