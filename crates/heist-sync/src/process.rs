//! Processes that come by `fork(2)`. The child has one thread, the one that forked, and a copy of everything else: locks that threads
//! hold which are not there, queues that nobody serves. So whatever belongs to threads notes the process that it was made in
//! ([`Origin`]), and what every process needs once is made anew in each ([`PerProcess`]).
//!
//! The protocol is described in the README of `heist-pool/src/process`.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Which process this is: [`UNWATCHED`], or [`FIRST`] and as many more as forks lie behind it since then.
static PROCESS: AtomicU32 = AtomicU32::new(UNWATCHED);

/// Nobody would notice a fork yet.
const UNWATCHED: u32 = 0;

/// Forks are noticed, and there was none.
const FIRST: u32 = 1;

/// From here on forks are noticed. Called before the first thread of heist's starts, and before anybody takes a lock that a child
/// could find taken; once is enough, and more do no harm.
///
/// ```
/// heist_sync::process::watch();
/// assert!(!heist_sync::process::Origin::here().is_foreign());
/// ```
pub fn watch() {
    extern "C" fn count() {
        // ORDERING: relaxed: the child has one thread, and starts the others.
        let parent = PROCESS.load(Ordering::Relaxed).max(FIRST);
        PROCESS.store(parent.wrapping_add(1).max(FIRST + 1), Ordering::Relaxed);
    }
    // Two that come at once both register, and a fork counts for two: all that matters is that it changes the number. A lock here could be one
    // that nobody in the child opens.
    if PROCESS.load(Ordering::Acquire) == UNWATCHED {
        at_fork(count);
        // ORDERING: release, with the acquire above: whoever finds it set forks after the registration.
        let _ = PROCESS.compare_exchange(UNWATCHED, FIRST, Ordering::Release, Ordering::Relaxed);
    }
}

/// Calls `hook` in each child of a `fork(2)`, on its one thread, before `fork` returns there. It may only store: no lock, no allocation,
/// no panic.
///
/// ```
/// extern "C" fn nothing() {}
/// heist_sync::process::at_fork(nothing);
/// ```
#[cfg(all(unix, not(any(heist_model, miri))))]
pub fn at_fork(hook: extern "C" fn()) {
    // SAFETY: the hook only stores, as its registrar has promised, and is there as long as the program.
    let refused = unsafe { libc::pthread_atfork(None, None, Some(hook)) };
    if refused != 0 {
        crate::warn(format_args!(
            "the system has no memory to watch for fork(); a child process must not use heist before it calls exec"
        ));
    }
}

/// Calls `hook` never: nobody forks here.
#[cfg(not(all(unix, not(any(heist_model, miri)))))]
pub fn at_fork(_: extern "C" fn()) {}

/// Which process something was made in.
///
/// ```
/// let origin = heist_sync::process::Origin::here();
/// assert!(!origin.is_foreign(), "there was no fork since");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin(u32);

impl Origin {
    /// This process. It is the same one before it is watched and after.
    #[inline]
    pub fn here() -> Self {
        Self(PROCESS.load(Ordering::Relaxed).max(FIRST))
    }

    /// Whether it was made before a fork, in another process than this one.
    #[inline]
    pub fn is_foreign(self) -> bool {
        self != Self::here()
    }
}

/// Whether this process came by a fork that was watched.
///
/// ```
/// assert!(!heist_sync::process::is_child());
/// ```
#[inline]
pub fn is_child() -> bool {
    Origin::here() != Origin(FIRST)
}

/// Ends the process at once: no destructors, no handlers, nothing that could wait for a thread which is not there.
#[cfg(all(unix, not(any(heist_model, miri))))]
pub fn end(status: i32) -> ! {
    // SAFETY: it touches nothing of ours.
    unsafe { libc::_exit(status) }
}

/// Ends the process. Nobody forks here, so nobody comes here either.
#[cfg(not(all(unix, not(any(heist_model, miri)))))]
pub fn end(_: i32) -> ! {
    std::process::abort()
}

/// Writes to standard error without a lock.
#[cfg(all(unix, not(any(heist_model, miri))))]
pub(crate) fn write_to_stderr(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the bytes live through the call.
        let written = unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => bytes = &bytes[written..],
            // Closed, full, or interrupted: the program goes on without.
            _ => return,
        }
    }
}

/// Writes to standard error.
#[cfg(not(all(unix, not(any(heist_model, miri)))))]
pub(crate) fn write_to_stderr(bytes: &[u8]) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), bytes);
}

/// A static of which each process has its own. A child begins with a new one, whatever state the parent's was in; that one stays as
/// it is, for whoever still points to it.
///
/// ```
/// use heist_sync::process::PerProcess;
/// use std::sync::Mutex;
///
/// static NAMES: PerProcess<Mutex<Vec<&str>>> = PerProcess::new(Mutex::new(Vec::new()), Mutex::default);
/// NAMES.get().lock().unwrap().push("a");
/// assert_eq!(*NAMES.get().lock().unwrap(), ["a"]);
/// ```
#[derive(Debug)]
pub struct PerProcess<T: 'static> {
    first: T,
    make: fn() -> T,
    /// That of the last process which needed one, below the first.
    later: AtomicPtr<Made<T>>,
}

#[derive(Debug)]
struct Made<T> {
    origin: Origin,
    value: T,
}

impl<T: Send + Sync> PerProcess<T> {
    /// The first process has `first`, each later one what `make` gives.
    pub const fn new(first: T, make: fn() -> T) -> Self {
        Self { first, make, later: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// That of the first process, for whoever knows how to look at it from another.
    pub const fn first(&self) -> &T {
        &self.first
    }

    /// That of this process. From here on forks are noticed: the caller may be about to take a lock, and a child that another thread makes
    /// meanwhile must not wait for it.
    #[inline]
    pub fn get(&'static self) -> &'static T {
        if PROCESS.load(Ordering::Relaxed) == FIRST { &self.first } else { self.get_slow() }
    }

    #[cold]
    fn get_slow(&'static self) -> &'static T {
        watch();
        if !is_child() {
            return &self.first;
        }
        let origin = Origin::here();
        // ORDERING: acquire, with the release below: what it points to is there.
        let found = self.later.load(Ordering::Acquire);
        // SAFETY: from the box below, which is never freed.
        if let Some(made) = unsafe { found.as_ref() }
            && made.origin == origin
        {
            return &made.value;
        }
        let made = Box::into_raw(Box::new(Made { origin, value: (self.make)() }));
        match self.later.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: just made, and never freed from here on.
            Ok(_) => unsafe { &(*made).value },
            Err(others) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: another thread of this process has put it there, and it is never freed.
                unsafe { &(*others).value }
            }
        }
    }
}
