//! A socket that the reactor watches: operations that wait instead of failing with `WouldBlock`.

use crate::driver::readiness::{Direction, Facts};
use crate::driver::source::{Source, Ticket};
use crate::driver::{reactor, reactor::Reactor};
use crate::{budget, driver};
use heist_sync::process::Origin;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A transfer of fewer bytes than asked for has emptied (or filled) the system's buffer, and the next change is an event:
/// how epoll's edges work.
const SHORT_MEANS_ALL: bool = cfg!(target_os = "linux");

pub(super) struct Socket<S: mio::event::Source> {
    /// `None` only while it is taken apart.
    io: Option<S>,
    source: Arc<Source>,
    reactor: Arc<Reactor>,
    /// In another process nobody watches it, and what is known about it there is never more than at the fork.
    origin: Origin,
}

impl<S: mio::event::Source> Socket<S> {
    /// Both directions are tried before they are waited for: after accepting or connecting that is nearly always right, and
    /// otherwise costs one call.
    pub fn new(io: S) -> io::Result<Self> {
        Self::with_facts(io, Facts::READABLE | Facts::WRITABLE)
    }

    /// Watches a connection that is being made: nothing is tried before there is an event.
    pub fn connecting(io: S) -> io::Result<Self> {
        Self::with_facts(io, Facts::NONE)
    }

    fn with_facts(mut io: S, facts: Facts) -> io::Result<Self> {
        type Registered = io::Result<(Arc<Reactor>, Arc<Source>)>;
        let registered = driver::register(|driver, before: Option<Registered>| {
            if let Some(Ok((reactor, source))) = before {
                reactor.deregister(&mut io, &source);
            }
            let reactor = Arc::clone(driver.reactor()?);
            let source = reactor.register(&mut io, facts)?;
            Ok((reactor, source))
        });
        let (reactor, source) = registered?;
        Ok(Self { io: Some(io), source, reactor, origin: Origin::here() })
    }

    /// Gives the socket back, which is then not watched any more.
    pub fn into_inner(mut self) -> S {
        self.take().expect("taken apart once")
    }

    fn take(&mut self) -> Option<S> {
        let mut io = self.io.take()?;
        if self.origin.is_foreign() {
            // The parent process has the system's list as well, and watches on. Ours may have been in the middle of a change.
            std::mem::forget((Arc::clone(&self.reactor), Arc::clone(&self.source)));
        } else {
            self.reactor.deregister(&mut io, &self.source);
        }
        Some(io)
    }

    /// Fails in a child process.
    #[inline]
    fn check_origin(&self) -> io::Result<()> {
        if self.origin.is_foreign() { Err(reactor::foreign()) } else { Ok(()) }
    }

    /// Waits for the direction and does `op`, until it does not fail with `WouldBlock`. For poll functions.
    #[inline]
    pub fn poll<R>(
        &self,
        direction: Direction,
        cx: &mut Context<'_>,
        op: impl FnMut(&S) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_with(direction, cx, None, op, |_| false)
    }

    /// As [`poll`](Self::poll), for an `op` that moves up to `len` bytes.
    #[inline]
    pub fn poll_transfer(
        &self,
        direction: Direction,
        cx: &mut Context<'_>,
        len: usize,
        op: impl FnMut(&S) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.poll_with(direction, cx, None, op, |&moved| SHORT_MEANS_ALL && 0 < moved && moved < len)
    }

    /// Waits for the direction and does `op`, until it does not fail with `WouldBlock`.
    pub fn attempt<R, F: FnMut(&S) -> io::Result<R>>(
        &self,
        direction: Direction,
        op: F,
    ) -> Attempt<'_, S, F> {
        Attempt { socket: self, direction, op, ticket: None }
    }

    /// As [`attempt`](Self::attempt), for an `op` that moves up to `len` bytes.
    pub async fn transfer(
        &self,
        direction: Direction,
        len: usize,
        mut op: impl FnMut(&S) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let and_note = |io: &S| {
            let seen = self.source.readiness();
            let moved = op(io)?;
            if SHORT_MEANS_ALL && 0 < moved && moved < len {
                self.source.clear(Facts::open(direction), seen);
            }
            Ok(moved)
        };
        self.attempt(direction, and_note).await
    }

    /// Waits until the direction is worth a try. Fails if nobody watches the socket any more: whoever tries, finds nothing and
    /// waits again would go round for ever.
    pub async fn ready(&self, direction: Direction) -> io::Result<()> {
        let is_known = |_: &S| {
            let facts = self.source.readiness().facts();
            if facts.intersects(Facts::open_or_ended(direction)) {
                Ok(())
            } else {
                Err(io::ErrorKind::WouldBlock.into())
            }
        };
        self.attempt(direction, is_known).await
    }

    /// Does `op` if the direction is worth a try, else fails with `WouldBlock` without asking the system.
    pub fn try_now<R>(&self, direction: Direction, op: impl FnOnce(&S) -> io::Result<R>) -> io::Result<R> {
        self.check_origin()?;
        let seen = self.source.readiness();
        if !seen.allows(direction) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let result = op(self);
        if matches!(&result, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            self.source.clear(Facts::open_or_ended(direction), seen);
        }
        result
    }

    #[inline]
    fn poll_with<R>(
        &self,
        direction: Direction,
        cx: &mut Context<'_>,
        mut ticket: Option<&mut Option<Ticket>>,
        mut op: impl FnMut(&S) -> io::Result<R>,
        is_all: impl FnOnce(&R) -> bool,
    ) -> Poll<io::Result<R>> {
        self.check_origin()?;
        let mut has_budget = false;
        loop {
            let seen = ready!(self.source.poll_ready(direction, cx, ticket.as_deref_mut()));
            // Only now: a task may poll any number of sockets that are not ready.
            if !has_budget {
                ready!(budget::poll_proceed(cx));
                has_budget = true;
            }
            match op(self) {
                Ok(result) => {
                    if is_all(&result) {
                        self.source.clear(Facts::open(direction), seen);
                    }
                    return Poll::Ready(Ok(result));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if seen.is_abandoned() {
                        return Poll::Ready(Err(reactor::abandoned()));
                    }
                    // Even an end that was reported did not hold, or this would be tried for ever.
                    self.source.clear(Facts::open_or_ended(direction), seen);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<S: mio::event::Source> std::ops::Deref for Socket<S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        self.io.as_ref().expect("taken apart when it goes")
    }
}

impl<S: mio::event::Source> Drop for Socket<S> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<S: mio::event::Source + fmt::Debug> fmt::Debug for Socket<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The future of [`Socket::attempt`]. It takes its waker back when dropped.
#[must_use = "a future does nothing unless it is awaited"]
pub(super) struct Attempt<'a, S: mio::event::Source, F> {
    socket: &'a Socket<S>,
    direction: Direction,
    op: F,
    ticket: Option<Ticket>,
}

// The operation is only called, never pinned.
impl<S: mio::event::Source, F> Unpin for Attempt<'_, S, F> {}

impl<S: mio::event::Source, R, F: FnMut(&S) -> io::Result<R>> Future for Attempt<'_, S, F> {
    type Output = io::Result<R>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.socket.poll_with(this.direction, cx, Some(&mut this.ticket), &mut this.op, |_| false)
    }
}

impl<S: mio::event::Source, F> Drop for Attempt<'_, S, F> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.filter(|_| !self.socket.origin.is_foreign()) {
            self.socket.source.forget(self.direction, ticket);
        }
    }
}
