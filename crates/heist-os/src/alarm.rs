//! A time that one thread sleeps until and that others set.

use heist_sync::{Condvar, Mutex, lock};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Rings once for each time that it is set to, unless it is set again before.
///
/// The kernel keeps the time where it can: who sets it wakes nobody, and the sleeper wakes up once, when the time has come.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let (alarm, begun) = (heist_os::Alarm::new(), Instant::now());
/// alarm.set(Some(Duration::from_secs(3600)));
/// alarm.set(Some(Duration::from_millis(1)));
/// alarm.wait();
/// assert!(begun.elapsed() >= Duration::from_millis(1));
/// ```
#[derive(Debug)]
pub struct Alarm(Kept);

#[derive(Debug)]
enum Kept {
    #[cfg(all(target_os = "linux", not(miri)))]
    ByKernel(timer::Timer),
    /// The sleeper is woken, and sleeps on until then.
    Here { at: Mutex<Option<Instant>>, is_set: Condvar },
}

impl Default for Alarm {
    fn default() -> Self {
        Self::new()
    }
}

impl Alarm {
    /// One that is not set. `HEIST_OS_HINTS=0` keeps the kernel out of it.
    ///
    /// ```
    /// let _ = heist_os::Alarm::new();
    /// ```
    pub fn new() -> Self {
        #[cfg(all(target_os = "linux", not(miri)))]
        if heist_sync::switch("HEIST_OS_HINTS") != Some(false)
            && let Some(timer) = timer::Timer::new()
        {
            return Self(Kept::ByKernel(timer));
        }
        Self::without_kernel()
    }

    fn without_kernel() -> Self {
        Self(Kept::Here { at: Mutex::new(None), is_set: Condvar::new() })
    }

    /// It rings that long from now, or not at all, and not when it would have.
    ///
    /// ```
    /// heist_os::Alarm::new().set(Some(std::time::Duration::ZERO));
    /// ```
    pub fn set(&self, left: Option<Duration>) {
        match &self.0 {
            #[cfg(all(target_os = "linux", not(miri)))]
            Kept::ByKernel(timer) => timer.set(left),
            Kept::Here { at, is_set } => {
                // A time that the clock does not have does not come.
                *lock(at) = left.and_then(|left| Instant::now().checked_add(left));
                is_set.notify_one();
            }
        }
    }

    /// Sleeps until it rings.
    ///
    /// ```
    /// let alarm = heist_os::Alarm::new();
    /// alarm.set(Some(std::time::Duration::ZERO));
    /// alarm.wait();
    /// ```
    pub fn wait(&self) {
        match &self.0 {
            #[cfg(all(target_os = "linux", not(miri)))]
            Kept::ByKernel(timer) => timer.wait(),
            Kept::Here { at, is_set } => {
                let mut at = lock(at);
                // LIVENESS: it is set under this lock, and then notifies.
                loop {
                    let left = at.map(|at| at.saturating_duration_since(Instant::now()));
                    at = match left {
                        None => is_set.wait(at).unwrap_or_else(PoisonError::into_inner),
                        Some(Duration::ZERO) => break,
                        Some(left) => is_set.wait_timeout(at, left).unwrap_or_else(PoisonError::into_inner).0,
                    };
                }
                *at = None;
            }
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod timer {
    use std::fs::File;
    use std::io::{ErrorKind, Read};
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::time::Duration;

    /// How often one rings that cannot be set.
    const WITHOUT_TIMER: Duration = Duration::from_millis(10);

    #[derive(Debug)]
    pub(super) struct Timer(File);

    impl Timer {
        /// `None` if the system has no descriptor left, or does not allow it.
        pub(super) fn new() -> Option<Self> {
            // SAFETY: no pointers.
            let descriptor = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
            // SAFETY: just made, and nobody else's.
            (descriptor >= 0).then(|| Self(unsafe { File::from_raw_fd(descriptor) }))
        }

        pub(super) fn set(&self, left: Option<Duration>) {
            let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // No time at all turns it off.
            let left = left.map_or(Duration::ZERO, |left| left.max(Duration::from_nanos(1)));
            let value = libc::timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(libc::time_t::MAX),
                tv_nsec: left.subsec_nanos().into(),
            };
            let once = libc::itimerspec { it_interval: never, it_value: value };
            // It cannot be refused, unless the program has closed what is ours, and then who waits already sleeps on.
            // SAFETY: the kernel reads one `itimerspec`.
            unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const once, std::ptr::null_mut()) };
        }

        pub(super) fn wait(&self) {
            let mut rings = [0; 8];
            loop {
                match (&self.0).read(&mut rings) {
                    Ok(8) => return,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // The program has closed what is ours, or put another file there: too early is better than never.
                    _ => return std::thread::sleep(WITHOUT_TIMER),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever keeps it: what was set last counts, also when somebody sleeps already.
    #[test]
    fn what_was_set_last_rings() {
        for alarm in [Alarm::new(), Alarm::without_kernel()] {
            let (far, near) = (Duration::MAX, Duration::from_millis(20));
            alarm.set(Some(Duration::ZERO));
            alarm.set(None);
            alarm.set(Some(far));
            std::thread::scope(|scope| {
                let sleeper = scope.spawn(|| {
                    alarm.wait();
                    Instant::now()
                });
                let begun = Instant::now();
                alarm.set(Some(near));
                assert!(sleeper.join().unwrap() >= begun + near, "not that which was set before: {alarm:?}");
            });
        }
    }
}
