//! The system's own way to wait for many sockets. mio registers them everywhere; on Linux the wait is ours, because mio's
//! rounds time-outs up to milliseconds.

#[cfg(target_os = "linux")]
mod epoll;
#[cfg(not(target_os = "linux"))]
mod portable;

#[cfg(target_os = "linux")]
pub(super) use epoll::Poller;
#[cfg(not(target_os = "linux"))]
pub(super) use portable::Poller;

/// Events taken from the system at once.
const EVENTS: usize = 1024;
