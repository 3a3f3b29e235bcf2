//! One thread's place to sleep: a token that is set by whoever has news and taken by its owner.
//!
//! `std::thread::park` would do, but its token is shared with user code that parks for reasons of its own.

use std::sync::{OnceLock, Weak};
use std::time::Duration;

/// Something that ends a wait in which a thread sleeps elsewhere than on its parker.
pub trait Interrupt: Send + Sync {
    /// Ends the wait, or the next one if there is none.
    fn interrupt(&self);
}

/// Where the owner of a [`Parker`] is, as far as others can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// It is awake, or somebody has left a token.
    Awake,
    /// It sleeps on the parker, or is about to.
    Here,
    /// It is where it sleeps elsewhere: see [`Parker::park_in`].
    Elsewhere,
}

/// A token-passing parker. [`unpark`](Parker::unpark) before [`park`](Parker::park) makes the latter return at once; tokens
/// do not add up. Only one thread may park on it at a time.
///
/// Everything written before an `unpark` is visible after the `park` that takes its token.
///
/// ```
/// let p = heist_sync::Parker::new();
/// p.unpark();
/// p.park();
/// ```
#[derive(Default)]
pub struct Parker {
    imp: imp::Parker,
    /// What ends the waits of [`park_in`](Self::park_in).
    elsewhere: OnceLock<Weak<dyn Interrupt>>,
}

impl std::fmt::Debug for Parker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parker").field("imp", &self.imp).finish_non_exhaustive()
    }
}

impl Parker {
    /// A parker without a token.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sleeps until there is a token, and takes it.
    pub fn park(&self) {
        self.imp.park(None, None);
    }

    /// Sleeps until there is a token, and takes it, or until about `timeout` has passed. True if a token was taken.
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        self.imp.park(Some(timeout), None)
    }

    /// As [`park`](Self::park), or as [`park_timeout`](Self::park_timeout). `tell` is called as soon as [`rest`](Self::rest) tells others that
    /// the owner sleeps, and not at all if there is a token. It may leave one.
    pub fn park_telling(&self, timeout: Option<Duration>, mut tell: impl FnMut()) -> bool {
        self.imp.park(timeout, Some(&mut tell))
    }

    /// Where its owner is.
    pub fn rest(&self) -> Rest {
        self.imp.rest()
    }

    /// Takes the token if there is one, without sleeping.
    pub fn try_take(&self) -> bool {
        self.imp.try_take()
    }

    /// Leaves a token and wakes the owner if it sleeps, here or elsewhere.
    pub fn unpark(&self) {
        if self.imp.unpark()
            && let Some(elsewhere) = self.elsewhere.get().and_then(Weak::upgrade)
        {
            elsewhere.interrupt();
        }
    }

    /// As [`park`](Self::park), but the owner sleeps in `wait`, which `elsewhere` interrupts. `wait` may also end by itself, and is
    /// not called at all if there is a token. True if a token was taken.
    ///
    /// The first call decides what `elsewhere` is.
    pub fn park_in(&self, elsewhere: impl FnOnce() -> Weak<dyn Interrupt>, wait: impl FnOnce()) -> bool {
        self.elsewhere.get_or_init(elsewhere);
        // LIVENESS: whoever leaves a token from here on interrupts, and an interrupt that comes before `wait` has begun ends it
        // at once.
        if self.imp.go_elsewhere() {
            wait();
        }
        self.imp.come_back()
    }
}

#[cfg(all(target_os = "linux", not(any(heist_model, miri))))]
mod imp {
    use super::Rest;
    use std::ptr::{from_ref, null};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    const EMPTY: u32 = 0;
    const TOKEN: u32 = 1;
    const ASLEEP: u32 = 2;
    const ELSEWHERE: u32 = 3;

    #[derive(Debug, Default)]
    pub struct Parker {
        state: AtomicU32,
    }

    /// Sleeps while `word` is `expected`, until a wake, for about `timeout` at most, or for no reason.
    fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
        let timeout = timeout.map(|t| libc::timespec {
            tv_sec: libc::time_t::try_from(t.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: t.subsec_nanos() as _,
        });
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        let timeout = timeout.as_ref().map_or(null(), from_ref);
        // SAFETY: the word and the time-out live through the call.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, timeout) };
    }

    /// Wakes the thread that sleeps on `word`, if there is one.
    fn wake_one(word: &AtomicU32) {
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: only an address; the kernel does not read what is there.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
    }

    impl Parker {
        pub fn try_take(&self) -> bool {
            // ORDERING: acquire, with the release in `unpark`: what its caller wrote is seen by ours. The cheap look
            // first: most calls find nothing.
            self.state.load(Ordering::Relaxed) == TOKEN && self.state.swap(EMPTY, Ordering::Acquire) == TOKEN
        }

        pub fn park(&self, timeout: Option<Duration>, tell: Option<&mut dyn FnMut()>) -> bool {
            let until = timeout.map(|t| Instant::now() + t);
            // EMPTY becomes ASLEEP, TOKEN is taken. ASLEEP cannot be found: only the owner parks.
            // ORDERING: acquire for the token's news; release for `rest`: what the owner has done before.
            if self.state.compare_exchange(EMPTY, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_err() {
                self.state.swap(EMPTY, Ordering::Acquire);
                return true;
            }
            if let Some(tell) = tell {
                tell();
            }
            loop {
                let left = match until {
                    None => None,
                    Some(until) => match until.checked_duration_since(Instant::now()) {
                        Some(left) if !left.is_zero() => Some(left),
                        // Out of time. A token may have come meanwhile: the swap tells.
                        _ => return self.state.swap(EMPTY, Ordering::Acquire) == TOKEN,
                    },
                };
                // LIVENESS: the kernel sleeps only if the word is still ASLEEP, and whoever changes that word wakes us.
                wait(&self.state, ASLEEP, left);
                if self.state.load(Ordering::Relaxed) == TOKEN {
                    self.state.swap(EMPTY, Ordering::Acquire);
                    return true;
                }
            }
        }

        pub fn rest(&self) -> Rest {
            // ORDERING: acquire, with the release in `park`.
            match self.state.load(Ordering::Acquire) {
                ASLEEP => Rest::Here,
                ELSEWHERE => Rest::Elsewhere,
                _ => Rest::Awake,
            }
        }

        /// True if the owner sleeps elsewhere.
        pub fn unpark(&self) -> bool {
            // ORDERING: release for our news; a swap rather than a store, so that the sleeper's state is learnt in the
            // same step and no token is set behind a thread that was about to sleep.
            match self.state.swap(TOKEN, Ordering::Release) {
                ASLEEP => {
                    wake_one(&self.state);
                    false
                }
                state => state == ELSEWHERE,
            }
        }

        /// False if there is a token.
        pub fn go_elsewhere(&self) -> bool {
            // ORDERING: relaxed; `come_back` acquires the token's news.
            self.state.compare_exchange(EMPTY, ELSEWHERE, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        }

        pub fn come_back(&self) -> bool {
            // ORDERING: acquire, with the release in `unpark`.
            self.state.swap(EMPTY, Ordering::Acquire) == TOKEN
        }
    }
}

#[cfg(not(all(target_os = "linux", not(any(heist_model, miri)))))]
mod imp {
    use super::Rest;
    use crate::planted::is_planted;
    use crate::{Condvar, Mutex, lock};
    // For `rest` alone, which no checker asks for.
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[derive(Debug)]
    pub struct Parker {
        token: Mutex<bool>,
        /// The owner sleeps elsewhere; changed under the lock of `token`.
        is_elsewhere: Mutex<bool>,
        /// The owner sleeps here; changed under the lock of `token`.
        is_here: AtomicBool,
        news: Condvar,
    }

    // Not derived: the checkers' mutexes have no `Default`.
    impl Default for Parker {
        fn default() -> Self {
            Self {
                token: Mutex::new(false),
                is_elsewhere: Mutex::new(false),
                is_here: AtomicBool::new(false),
                news: Condvar::new(),
            }
        }
    }

    impl Parker {
        pub fn try_take(&self) -> bool {
            std::mem::take(&mut *lock(&self.token))
        }

        pub fn rest(&self) -> Rest {
            let token = lock(&self.token);
            match (*token, self.is_here.load(Ordering::Relaxed)) {
                (false, true) => Rest::Here,
                (false, false) if *lock(&self.is_elsewhere) => Rest::Elsewhere,
                _ => Rest::Awake,
            }
        }

        pub fn park(&self, timeout: Option<Duration>, tell: Option<&mut dyn FnMut()>) -> bool {
            // The checkers have no clock, so any time may be up at any time.
            #[cfg(heist_model)]
            if timeout.is_some() {
                crate::thread::yield_now();
                return self.try_take();
            }
            let mut token = lock(&self.token);
            self.is_here.store(true, Ordering::Relaxed);
            if !*token && let Some(tell) = tell {
                drop(token);
                tell();
                token = lock(&self.token);
            }
            while !*token {
                match timeout {
                    None => token = self.news.wait(token).unwrap_or_else(std::sync::PoisonError::into_inner),
                    Some(t) => {
                        let (guard, out) = match self.news.wait_timeout(token, t) {
                            Ok(pair) => pair,
                            Err(poisoned) => poisoned.into_inner(),
                        };
                        token = guard;
                        if out.timed_out() {
                            break;
                        }
                    }
                }
            }
            self.is_here.store(false, Ordering::Relaxed);
            std::mem::take(&mut *token)
        }

        /// True if the owner sleeps elsewhere.
        pub fn unpark(&self) -> bool {
            let mut token = lock(&self.token);
            *token = true;
            let is_elsewhere = *lock(&self.is_elsewhere) && !is_planted("parker_unpark_forgets_elsewhere");
            drop(token);
            self.news.notify_one();
            is_elsewhere
        }

        /// False if there is a token.
        pub fn go_elsewhere(&self) -> bool {
            if is_planted("parker_looks_before_it_goes_elsewhere") {
                let token = *lock(&self.token);
                *lock(&self.is_elsewhere) = !token;
                return !token;
            }
            let token = lock(&self.token);
            *lock(&self.is_elsewhere) = !*token;
            !*token
        }

        pub fn come_back(&self) -> bool {
            let mut token = lock(&self.token);
            *lock(&self.is_elsewhere) = false;
            std::mem::take(&mut *token)
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_token_is_taken_once() {
        let p = Parker::new();
        p.unpark();
        p.unpark();
        assert!(p.try_take());
        assert!(!p.try_take());
        assert!(!p.park_timeout(Duration::from_millis(1)));
    }

    /// A place to sleep in other than the parker.
    #[derive(Default)]
    struct Driver {
        is_interrupted: std::sync::Mutex<bool>,
        news: std::sync::Condvar,
    }

    impl Driver {
        fn wait(&self) {
            let mut is_interrupted = self.is_interrupted.lock().unwrap();
            while !std::mem::take(&mut *is_interrupted) {
                is_interrupted = self.news.wait(is_interrupted).unwrap();
            }
        }
    }

    impl Interrupt for Driver {
        fn interrupt(&self) {
            *self.is_interrupted.lock().unwrap() = true;
            self.news.notify_one();
        }
    }

    #[test]
    fn a_thread_that_sleeps_elsewhere_is_woken_there() {
        let (parker, driver) = (Arc::new(Parker::new()), Arc::new(Driver::default()));
        let elsewhere = || {
            let weak: Weak<dyn Interrupt> = Arc::downgrade(&(driver.clone() as Arc<dyn Interrupt>));
            weak
        };
        parker.unpark();
        assert!(parker.park_in(elsewhere, || panic!("there is a token")));
        let waker = parker.clone();
        let (ask, asked) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || asked.iter().for_each(|()| waker.unpark()));
        for _ in 0..10_000 {
            ask.send(()).unwrap();
            // An interrupt that came too late for the last wait ends this one early.
            while !parker.park_in(elsewhere, || driver.wait()) {}
        }
        drop(ask);
        other.join().unwrap();
    }

    #[test]
    fn ping_pong_never_loses_a_token() {
        let (a, b) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let (a2, b2) = (a.clone(), b.clone());
        let other = std::thread::spawn(move || {
            for _ in 0..20_000 {
                a2.park();
                b2.unpark();
            }
        });
        for i in 0..20_000 {
            a.unpark();
            if i % 3 == 0 {
                while !b.park_timeout(Duration::from_micros(5)) {}
            } else {
                b.park();
            }
        }
        other.join().unwrap();
    }
}
