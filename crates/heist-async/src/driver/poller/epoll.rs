//! epoll, with time-outs in nanoseconds.

use super::EVENTS;
use crate::driver::readiness::Facts;
use heist_sync::Mutex;
use heist_sync::atomic::{AtomicBool, Ordering};
use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

pub(in crate::driver) struct Poller {
    poll: mio::Poll,
    events: Mutex<Box<[libc::epoll_event]>>,
    /// The system has no `epoll_pwait2` (before Linux 5.11, or a filter that forbids it).
    is_coarse: AtomicBool,
}

impl Poller {
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            poll: mio::Poll::new()?,
            events: Mutex::new(vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS].into()),
            is_coarse: AtomicBool::new(false),
        })
    }

    pub fn registry(&self) -> &mio::Registry {
        self.poll.registry()
    }

    /// Waits for events, calls `woken`, and then `each` for every one. `before` is called when it is sure that nobody else
    /// is in here. If somebody is, only `woken` is called.
    ///
    /// # Errors
    /// If the system does not let us wait. `woken` was called all the same.
    pub fn wait(
        &self,
        timeout: Option<Duration>,
        before: impl FnOnce(),
        woken: impl FnOnce(),
        mut each: impl FnMut(usize, Facts),
    ) -> io::Result<()> {
        let Some(mut events) = super::super::reactor::try_lock(&self.events) else {
            woken();
            return Ok(());
        };
        before();
        let filled = self.fill(&mut events, timeout);
        woken();
        for event in &events[..filled?] {
            // Tokens are addresses, so they fit.
            each(event.u64 as usize, facts(event.events));
        }
        Ok(())
    }

    fn fill(&self, events: &mut [libc::epoll_event], timeout: Option<Duration>) -> io::Result<usize> {
        // A look without a wait needs no fine time-out, and an endless wait none at all.
        let is_fine = timeout.is_some_and(|t| !t.is_zero());
        let mut result = None;
        if is_fine && !self.is_coarse.load(Ordering::Relaxed) {
            result = Some(self.wait_fine(events, timeout));
        }
        if let Some(Err(error)) = &result
            && error.kind() != io::ErrorKind::Interrupted
        {
            // Whatever a filter calls its refusal. If the fault is the descriptor's, the other call finds it as well.
            if is_for_good(error) {
                self.is_coarse.store(true, Ordering::Relaxed);
            }
            result = None;
        }
        match result.unwrap_or_else(|| self.wait_coarse(events, timeout)) {
            // A signal. The caller looks at its timers and comes back.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            result => result,
        }
    }

    fn wait_fine(&self, events: &mut [libc::epoll_event], timeout: Option<Duration>) -> io::Result<usize> {
        /// What the kernel takes on every architecture.
        #[repr(C)]
        struct Timespec {
            secs: i64,
            nanos: i64,
        }
        let timeout = timeout.map(|t| Timespec {
            secs: t.as_secs().min(i64::MAX as u64) as i64,
            nanos: t.subsec_nanos().into(),
        });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let none: *const libc::sigset_t = std::ptr::null();
        // SAFETY: the buffer and the time-out live through the call, and the length is the buffer's.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.poll.as_raw_fd(),
                events.as_mut_ptr(),
                events.len() as libc::c_int,
                timeout,
                none,
                0_usize,
            )
        };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    fn wait_coarse(&self, events: &mut [libc::epoll_event], timeout: Option<Duration>) -> io::Result<usize> {
        // Rounded up, so that a wait for a timer does not end just before it is due.
        let ms = timeout.map_or(-1, |t| {
            libc::c_int::try_from(t.as_nanos().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
        });
        // SAFETY: the buffer lives through the call, and the length is its own.
        let count = unsafe {
            libc::epoll_wait(self.poll.as_raw_fd(), events.as_mut_ptr(), events.len() as libc::c_int, ms)
        };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poller").field("fd", &self.poll.as_raw_fd()).finish_non_exhaustive()
    }
}

/// Whether the system will never do what it has just refused, so that it need not be asked again.
fn is_for_good(error: &io::Error) -> bool {
    let never = [libc::ENOSYS, libc::EPERM, libc::EACCES, libc::EINVAL, libc::EOPNOTSUPP];
    error.raw_os_error().is_some_and(|errno| never.contains(&errno))
}

/// What an event says. An error is shown by the next operation in either direction, so both may be tried.
fn facts(events: u32) -> Facts {
    let has = |flags: libc::c_int| events & flags as u32 != 0;
    let mut facts = Facts::NONE;
    if has(libc::EPOLLIN | libc::EPOLLPRI | libc::EPOLLERR) {
        facts = facts | Facts::READABLE;
    }
    if has(libc::EPOLLOUT | libc::EPOLLERR) {
        facts = facts | Facts::WRITABLE;
    }
    if has(libc::EPOLLRDHUP | libc::EPOLLHUP) {
        facts = facts | Facts::READ_CLOSED;
    }
    if has(libc::EPOLLHUP) {
        facts = facts | Facts::WRITE_CLOSED;
    }
    facts
}
