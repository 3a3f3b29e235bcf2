//! What models need of profiles.

use super::{Outcome, SESSIONS};
use heist_sync::std_atomic::Ordering;

/// From here on a profile is taken, or none is.
pub(crate) fn set_on(is_on: bool) {
    SESSIONS.store(is_on.into(), Ordering::Relaxed);
}

/// The code of the half that it is of.
pub(crate) fn code_of(outcome: &Outcome) -> usize {
    outcome.sums.sites[0].code
}
