//! The sockets of a pool.

use super::board::Board;
use super::poller::Poller;
use super::readiness::Facts;
use super::source::Source;
use heist_sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use heist_sync::process::Origin;
use heist_sync::{Mutex, MutexGuard, lock};
use mio::{Interest, Token};
use std::io;
use std::sync::{Arc, TryLockError, Weak};
use std::time::Duration;

/// The waker's token; no source has this address.
const WAKER: usize = 0;

/// How long a wait lasts at most if the system does not let us wait, or does not let us be woken.
const SHORT: Duration = Duration::from_millis(1);

/// Sources that may be gone before a sleeping waiter is woken to free them.
const MOST_GONE: usize = 64;

#[derive(Debug)]
pub(crate) struct Reactor {
    poller: Poller,
    waker: mio::Waker,
    /// In place of `waker`, if that fails: a socket that is always ready, which the system says whenever it is asked anew.
    second_waker: Mutex<Option<mio::net::UdpSocket>>,
    /// Not even that one works, so nobody may wait for long.
    is_deaf: AtomicBool,
    sources: Mutex<Sources>,
    /// How many are registered, for a look without the lock.
    used: AtomicUsize,
    /// How many are gone and not yet freed, for a look without the lock.
    gone: AtomicUsize,
    board: Weak<Board>,
    origin: Origin,
}

/// INVARIANT: the system's tokens are the addresses of sources that are in one of these two lists. One that is in `gone` was
/// taken from the system before it came there, so a wait that begins later does not return it; only a turn frees it, before
/// its wait.
#[derive(Debug, Default)]
struct Sources {
    registered: Vec<Arc<Source>>,
    gone: Vec<Arc<Source>>,
    is_closed: bool,
}

impl Reactor {
    pub fn open(board: Weak<Board>) -> io::Result<Self> {
        let poller = Poller::open()?;
        let waker = mio::Waker::new(poller.registry(), Token(WAKER))?;
        Ok(Self {
            poller,
            waker,
            second_waker: Mutex::new(None),
            is_deaf: AtomicBool::new(false),
            sources: Mutex::default(),
            used: AtomicUsize::new(0),
            gone: AtomicUsize::new(0),
            board,
            origin: Origin::here(),
        })
    }

    /// Watches a socket about which `facts` are known.
    pub fn register(&self, io: &mut impl mio::event::Source, facts: Facts) -> io::Result<Arc<Source>> {
        let source = Arc::new(Source::new(facts));
        {
            let mut sources = lock(&self.sources);
            if sources.is_closed {
                return Err(abandoned());
            }
            source.index.store(sources.registered.len(), Ordering::Relaxed);
            sources.registered.push(Arc::clone(&source));
        }
        let token = Token(Arc::as_ptr(&source).expose_provenance());
        if let Err(error) =
            self.poller.registry().register(io, token, Interest::READABLE | Interest::WRITABLE)
        {
            // The system does not know it, so no event has its address.
            drop(take(&mut lock(&self.sources), &source));
            return Err(error);
        }
        // ORDERING(DRIVER-E7): the registration before our look at who waits; partner: the pool, where a thread that goes to sleep
        // fences before it asks whether the driver is used.
        self.used.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if let Some(board) = self.board.upgrade()
            && !board.wait.is_awaited()
        {
            board.attend();
        }
        Ok(source)
    }

    /// Watches a socket no longer.
    pub fn deregister(&self, io: &mut impl mio::event::Source, source: &Arc<Source>) {
        // It fails only if the socket is not registered (closed behind our back); then there is nothing to undo.
        let _ = self.poller.registry().deregister(io);
        let mut sources = lock(&self.sources);
        let Some(taken) = take(&mut sources, source) else { return };
        sources.gone.push(taken);
        let gone = sources.gone.len();
        drop(sources);
        // Now, without the lock: a task's waker keeps its pool, and with it this list. There may be no further turn.
        source.forget_all();
        self.gone.store(gone, Ordering::Relaxed);
        let was_last = self.used.fetch_sub(1, Ordering::AcqRel) == 1;
        // LIVENESS: a closed pool waits for its last socket, and its last thread perhaps in a turn. For the rest only memory
        // waits, so once is enough, and a turn that comes by itself does as well.
        if (was_last || gone == MOST_GONE)
            && let Some(board) = self.board.upgrade()
            && (gone == MOST_GONE || board.is_closing())
        {
            board.interrupt();
        }
    }

    /// Waits for events and wakes those who wait for them; `woken` is called as soon as the wait is over.
    pub fn turn(&self, timeout: Option<Duration>, woken: impl FnOnce()) {
        let free = || {
            if self.gone.load(Ordering::Relaxed) > 0 {
                let gone = std::mem::take(&mut lock(&self.sources).gone);
                self.gone.store(0, Ordering::Relaxed);
                drop(gone);
            }
        };
        let is_deaf = self.is_deaf.load(Ordering::Relaxed);
        let timeout = if is_deaf { Some(timeout.map_or(SHORT, |t| t.min(SHORT))) } else { timeout };
        let waited = self.poller.wait(timeout, free, woken, |token, facts| {
            if token == WAKER {
                return;
            }
            let source = std::ptr::with_exposed_provenance::<Source>(token);
            // SAFETY: an address that we gave the system, of a source that has not been freed since: only a turn does that,
            // before its wait, and `Poller::wait` lets in one turn at a time (invariant of `Sources`).
            unsafe { &*source }.tell(facts);
        });
        if let Err(error) = waited {
            self.fail(&error);
            // Timers still have to be looked at, and to come back at once would be to spin.
            if timeout.is_none_or(|t| !t.is_zero()) {
                std::thread::sleep(SHORT);
            }
        }
    }

    /// The system does not let us wait for events (a descriptor closed behind our back, a filter), so nobody will ever hear of one.
    /// Those who wait for one get an error; to unwind here would take the whole pool down.
    #[cold]
    fn fail(&self, error: &io::Error) {
        if !lock(&self.sources).is_closed {
            heist_sync::warn(format_args!("sockets cannot be waited for any more: {error}"));
            self.close();
        }
    }

    /// Ends the wait of a thread in [`turn`](Self::turn), or of the next one.
    pub fn wake(&self) {
        if self.origin.is_foreign() {
            // Whoever waits is in the parent process, and would be woken there.
            return;
        }
        // It fails only if its descriptor is not ours any more, or a filter forbids to write to it. The caller may be anybody who
        // wakes a task, so this is no place to unwind.
        if self.waker.wake().is_err() {
            self.wake_otherwise();
        }
    }

    /// LIVENESS: an event of another descriptor ends the wait as well. If there is none to be had, the thread that waits wakes for
    /// its next timer or event, and from then on nobody waits for long.
    #[cold]
    fn wake_otherwise(&self) {
        let registry = self.poller.registry();
        let mut second = lock(&self.second_waker);
        let woken = match &mut *second {
            Some(socket) => registry.reregister(socket, Token(WAKER), Interest::WRITABLE),
            None => {
                mio::net::UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0).into()).and_then(|mut socket| {
                    registry.register(&mut socket, Token(WAKER), Interest::WRITABLE)?;
                    *second = Some(socket);
                    Ok(())
                })
            }
        };
        drop(second);
        if let Err(error) = woken
            && !self.is_deaf.swap(true, Ordering::Relaxed)
        {
            heist_sync::warn(format_args!("a wait for sockets cannot be interrupted: {error}"));
        }
    }

    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed) > 0
    }

    /// Nobody takes a turn any more: whoever waits learns it.
    pub fn close(&self) {
        let registered = {
            let mut sources = lock(&self.sources);
            sources.is_closed = true;
            sources.registered.clone()
        };
        registered.iter().for_each(|source| source.tell(Facts::ABANDONED));
    }
}

/// Takes a source out of the registered ones.
fn take(sources: &mut Sources, source: &Arc<Source>) -> Option<Arc<Source>> {
    let index = source.index.swap(usize::MAX, Ordering::Relaxed);
    if index == usize::MAX {
        return None;
    }
    let taken = sources.registered.swap_remove(index);
    if let Some(moved) = sources.registered.get(index) {
        moved.index.store(index, Ordering::Relaxed);
    }
    Some(taken)
}

/// What an operation on a socket returns when its pool is gone.
pub(crate) fn abandoned() -> io::Error {
    io::Error::other("nobody watches this socket any more: its heist pool is gone, or the system refuses")
}

/// What an operation on a socket returns in a child process.
pub(crate) fn foreign() -> io::Error {
    io::Error::other(
        "this socket was made before fork(), and the heist pool that watches it does not exist in the child process; open it \
         there, or take it out (into_std) and put it into a new one (from_std)",
    )
}

/// The lock, unless somebody has it.
pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
