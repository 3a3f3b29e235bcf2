//! The process as a whole, on a system of which nothing is known.

/// Whether the program runs with the rights of another user than the one who has started it, who should not make it write files.
///
/// ```
/// assert!(!heist_os::is_privileged());
/// ```
pub fn is_privileged() -> bool {
    false
}

/// Calls `hook` when the process ends by `exit` or by returning from `main`. False if that was refused, or is not known here. It must not
/// unwind.
///
/// ```
/// extern "C" fn nothing() {}
/// heist_os::at_exit(nothing);
/// ```
pub fn at_exit(_: extern "C" fn()) -> bool {
    false
}

/// For how long, in all and in milliseconds, a host has run others while this machine's CPUs wanted to run.
///
/// ```
/// assert!(heist_os::stolen_ms() <= heist_os::stolen_ms());
/// ```
pub fn stolen_ms() -> Option<u64> {
    None
}
