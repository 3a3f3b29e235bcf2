//! Task ids.

use std::fmt;
use std::num::NonZeroU64;

/// Identifies a task. No two tasks that exist at the same time have the same id; an id comes again only after four billion
/// other tasks have been in the same place of memory.
///
/// It prints as place and generation, `17.3` for the third task in place 17.
///
/// ```
/// let handle = heist::task::spawn(async { heist::task::id() });
/// let id = handle.id();
/// assert_eq!(heist::block_on(handle).unwrap(), id);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(NonZeroU64);

impl Id {
    /// `generation` is not 0.
    pub(super) fn new(place: u32, generation: u32) -> Self {
        let number = u64::from(generation.max(1)) << 32 | u64::from(place);
        Self(NonZeroU64::new(number).expect("the generation is not 0"))
    }

    /// As a number.
    ///
    /// ```
    /// let handle = heist::task::spawn(async {});
    /// assert_eq!(handle.id().as_u64(), handle.id().as_u64());
    /// ```
    pub fn as_u64(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0.get();
        write!(f, "{}.{}", number as u32, number >> 32)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}
