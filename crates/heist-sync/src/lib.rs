//! The only crate of heist that names `std`, `loom` or `shuttle` for anything two threads share: atomics and fences,
//! cells, threads and parking, locks, clock and randomness.
//!
//! Everything above is written against this facade, so the very code that ships is the code that the model checkers run:
//!
//! - plain build: `std`, plus [`barrier`] (`membarrier` on Linux) and a futex [`Parker`];
//! - `--cfg heist_model --cfg heist_loom`: loom's types; exhaustive, for protocols with two or three threads;
//! - `--cfg heist_model --cfg heist_shuttle`: shuttle's types; randomised and replayable, for the whole pool.
//!
//! Which of the two it is matters here and in the models. Elsewhere `heist_model` alone chooses, and it chooses files: what a checker
//! cannot run has a file of its own, and another takes its place, or none.
//!
//! loom cannot model a compiler fence that is paired with `membarrier`. [`barrier::light`] and [`barrier::heavy`] are
//! therefore both `fence(SeqCst)` there: the pair is modelled as the fences it stands for.

pub mod barrier;
pub mod cell;
pub mod clock;
mod parker;
pub mod planted;
mod prefetch;
pub mod process;
pub mod rand;
mod switch;
mod warn;

pub use parker::{Interrupt, Parker, Rest};
pub use prefetch::prefetch;
pub use switch::switch;
pub use warn::warn;

/// std's reference count in every build. loom's own cannot be the receiver of a method (`self: &Arc<Self>`); where the count
/// itself is not what a model is about, this one does.
pub use std::sync::Arc as StdArc;

/// std's atomics in every build, for counters that no model is about, and for what a model itself keeps.
pub use std::sync::atomic as std_atomic;

#[cfg(all(not(heist_model), any(heist_loom, heist_shuttle)))]
compile_error!("heist_loom and heist_shuttle need heist_model: see check/models.sh and check/shuttle.sh");

#[cfg(heist_loom)]
mod model {
    pub use loom::hint;
    pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock};
    pub use loom::thread;
    #[doc(hidden)]
    pub use loom::thread_local as checkers_thread_local;
    /// Atomic types, orderings and fences.
    pub mod atomic {
        pub use loom::sync::atomic::{
            AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
        };
    }
}

#[cfg(heist_shuttle)]
mod model {
    pub use shuttle::hint;
    pub use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock};
    pub use shuttle::thread;
    #[doc(hidden)]
    pub use shuttle::thread_local as checkers_thread_local;
    /// Atomic types, orderings and fences.
    pub mod atomic {
        pub use shuttle::sync::atomic::{
            AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
        };
    }
}

#[cfg(not(heist_model))]
mod model {
    pub use std::hint;
    pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock};
    pub use std::thread;
    pub use std::thread_local;
    /// Atomic types, orderings and fences.
    pub mod atomic {
        pub use std::sync::atomic::{
            AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
        };
    }
}

pub use model::*;

/// std's `thread_local!`, on the checker's threads. Those know no values that are made at compile time.
#[cfg(heist_model)]
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = const $init:block; $($rest:tt)*) => {
        $crate::checkers_thread_local!($(#[$attribute])* $vis static $name: $type = $init;);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $crate::checkers_thread_local!($(#[$attribute])* $vis static $name: $type = $init;);
        $crate::thread_local!($($rest)*);
    };
}

/// A capacity: `real`, or `modelled` where a checker runs, which has to meet it within a few steps.
///
/// ```
/// const SLOTS: usize = heist_sync::capacity(256, 4);
/// assert_eq!(SLOTS, 256);
/// ```
pub const fn capacity(real: usize, modelled: usize) -> usize {
    if cfg!(heist_model) { modelled } else { real }
}

/// Whether a thread has ended, as far as its handle can tell: those of the checkers cannot.
pub fn has_ended<T>(handle: &thread::JoinHandle<T>) -> bool {
    #[cfg(heist_model)]
    let has_ended = |_: &thread::JoinHandle<T>| false;
    #[cfg(not(heist_model))]
    let has_ended = thread::JoinHandle::is_finished;
    has_ended(handle)
}

/// Starts a thread that belongs to no model. Not generic: std's part of it is compiled once, and not for each closure.
///
/// ```
/// let thread = heist_sync::start_thread("helper", Box::new(|| println!("I help")))?;
/// thread.join().unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn start_thread(
    name: &str,
    run: Box<dyn FnOnce() + Send>,
) -> std::io::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(run)
}

/// As [`lock()`], for one who must not hang: `None` if the lock has not been free for a tenth of a second. `try_lock` is that of any mutex.
///
/// ```
/// let m = heist_sync::Mutex::new(1);
/// assert_eq!(heist_sync::lock_soon(|| m.try_lock()).map(|one| *one), Some(1));
/// ```
pub fn lock_soon<G>(mut try_lock: impl FnMut() -> Result<G, std::sync::TryLockError<G>>) -> Option<G> {
    use std::sync::TryLockError;
    for _ in 0..100 {
        match try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            // Nothing depends on how long this is, so it is std's in every build.
            Err(TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
    None
}

/// Locks a mutex; a panic of an earlier holder does not poison it for the others.
///
/// heist never runs user code under one of its own locks, so a poisoned lock still guards consistent data.
///
/// ```
/// let m = heist_sync::Mutex::new(1);
/// *heist_sync::lock(&m) += 1;
/// assert_eq!(*heist_sync::lock(&m), 2);
/// ```
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
