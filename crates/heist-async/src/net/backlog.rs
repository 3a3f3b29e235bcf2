//! How many connections may wait to be accepted.

/// What mio asks for is 128 on some systems, and a burst of more than that loses a second to TCP's second attempt (or, with Unix
/// sockets, fails). The system takes less if it is set to.
#[cfg(target_os = "linux")]
pub(super) fn raise(listener: &impl std::os::fd::AsRawFd) {
    const BACKLOG: libc::c_int = 4096;
    // SAFETY: the descriptor is open as long as its listener. If the system refuses, the listener listens as before.
    let _ = unsafe { libc::listen(listener.as_raw_fd(), BACKLOG) };
}

/// As mio has it.
#[cfg(not(target_os = "linux"))]
pub(super) fn raise<T>(_: &T) {}
