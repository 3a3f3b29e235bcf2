//! In place of reports of stalls where a checker runs, which finds those itself.

use crate::build::BuildError;

pub(crate) fn start(_: Option<std::time::Duration>) {}

pub(crate) fn check(_: Option<std::time::Duration>) -> Result<(), BuildError> {
    Ok(())
}

/// Nobody watches.
pub fn is_watched() -> bool {
    false
}
