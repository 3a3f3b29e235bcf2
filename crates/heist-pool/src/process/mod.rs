#![doc = include_str!("README.md")]

use crate::queues::forks::hot;
use crate::worker::leave_after_fork;
use heist_policy::tuning;
use heist_sync::process::{self, Origin, PerProcess};
use heist_sync::std_atomic::{AtomicBool, Ordering};
use heist_sync::{Parker, StdArc as Arc};
use std::sync::OnceLock;
use std::time::Duration;

/// What a pool of the parent process answers in a child.
pub const FOREIGN_POOL: &str = "this pool was made before fork(), and its threads do not exist in the child process; make a new pool \
                                there, or use the global one, which starts afresh";

/// What a wait says that would never end in a child.
pub const LOST: &str = "this waits for work that other threads had when fork() was called: they do not exist in the child process, so \
                        it would never end. Fork where nothing is pending, or leave the child by exec or _exit";

/// What a pool says that cannot be made in a child because no thread can start there.
const NO_THREADS: &str = "no thread starts in this child process: another one was starting or ending when fork() was called, and holds a \
                          lock of std's there. Leave the child by exec or _exit, or fork while no thread starts or ends";

/// How a child ends in which something has panicked that nobody there waits for: as a program does whose main function panics.
const PANICKED: i32 = 101;

/// Something has panicked on a thread of the parent's pools, and whoever waits for it does not exist.
static HAS_LOST_PANIC: AtomicBool = AtomicBool::new(false);

/// Watches for forks. Called before a pool starts its first thread.
pub(crate) fn watch() {
    static IS_WATCHING: AtomicBool = AtomicBool::new(false);
    extern "C" fn leave_pool() {
        leave_after_fork(hot());
    }
    process::watch();
    // As there: to be registered twice does no harm.
    if !IS_WATCHING.load(Ordering::Acquire) {
        process::at_fork(leave_pool);
        IS_WATCHING.store(true, Ordering::Release);
    }
}

/// Whether threads can start here, or why not. std takes a lock when a thread starts or ends. A child that finds it taken has threads that
/// never get to their closures, and whoever waits for them would do so forever: so the first thread is waited for, for so long and no longer.
pub(crate) fn check_threads() -> Result<(), &'static str> {
    static CAN_START: PerProcess<OnceLock<bool>> = PerProcess::new(OnceLock::new(), OnceLock::new);
    let can_start = || {
        let here = Arc::new(Parker::new());
        let theirs = Arc::clone(&here);
        let probe = heist_sync::start_thread("heist-probe", Box::new(move || theirs.unpark()));
        // One that is refused is told by whoever asks for the next.
        probe.is_err() || here.park_timeout(Duration::from_nanos(tuning::CHILD_START_NS))
    };
    if !process::is_child() || *CAN_START.get().get_or_init(can_start) { Ok(()) } else { Err(NO_THREADS) }
}

/// A thread, as whoever runs something for it knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caller(usize);

impl Caller {
    /// The calling thread.
    #[inline]
    pub fn here() -> Self {
        Self(std::ptr::from_ref(hot()).addr())
    }
}

/// Code of the program's that is run for a thread whose frame gets the result. In a child process that frame may be gone: the system uses
/// the stacks of threads that do not exist for others.
#[derive(Clone, Copy, Debug)]
pub struct OnBehalf {
    origin: Origin,
    is_elsewhere: bool,
}

impl OnBehalf {
    /// It begins, for `caller`.
    #[inline]
    pub fn of(caller: Caller) -> Self {
        Self { origin: Origin::here(), is_elsewhere: caller != Caller::here() }
    }

    /// It begins, for another thread.
    #[inline]
    pub fn elsewhere() -> Self {
        Self { origin: Origin::here(), is_elsewhere: true }
    }

    /// It is over. In a child, unless it was for this very thread, nobody is left who waits for it, and the process ends.
    #[inline]
    pub fn end(self, has_panicked: bool) {
        if self.origin.is_foreign() && self.is_elsewhere {
            end_child_after(has_panicked);
        }
    }
}

/// A wait in a child that would never end.
#[cold]
pub fn refuse_wait() -> ! {
    panic!("{LOST}")
}

/// Whoever waits for what has just panicked does not exist in this child.
#[cold]
pub(crate) fn note_lost_panic() {
    HAS_LOST_PANIC.store(true, Ordering::Relaxed);
}

/// As `end_child`, after something that may have panicked.
#[cold]
pub fn end_child_after(has_panicked: bool) -> ! {
    if has_panicked {
        note_lost_panic();
    }
    end_child()
}

/// The bottom of a thread's stack, in a child: what the parent's pool had started there has returned, and nobody waits for it. The
/// process ends at once.
#[cold]
pub(crate) fn end_child() -> ! {
    process::end(if HAS_LOST_PANIC.load(Ordering::Relaxed) { PANICKED } else { 0 })
}
