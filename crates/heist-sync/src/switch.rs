//! Switches in the environment.

use crate::process::PerProcess;
use std::sync::{Mutex, PoisonError};

/// What the variable `name` says: `1` is yes and `0` is no. If it is unset or empty it says nothing. Nor does anything else, such as
/// `false`, which is told on standard error, once.
///
/// ```
/// assert_eq!(heist_sync::switch("NO_SUCH_SWITCH"), None);
/// ```
pub fn switch(name: &'static str) -> Option<bool> {
    // std's lock in every build: no protocol depends on it, and those of the checkers cannot be static.
    static TOLD: PerProcess<Mutex<Vec<&str>>> = PerProcess::new(Mutex::new(Vec::new()), Mutex::default);
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    if value == "1" || value == "0" {
        return Some(value == "1");
    }
    let mut told = TOLD.get().lock().unwrap_or_else(PoisonError::into_inner);
    if !told.contains(&name) {
        told.push(name);
        drop(told);
        crate::warn(format_args!("{name}={value:?} means nothing; the values are 0 and 1"));
    }
    None
}
