//! The host of a virtual machine, on a system of which nothing is known.

/// For how long, in all and in milliseconds, a host has run others while this machine's CPUs wanted to run.
///
/// ```
/// assert!(heist_os::stolen_ms() <= heist_os::stolen_ms());
/// ```
pub fn stolen_ms() -> Option<u64> {
    None
}
