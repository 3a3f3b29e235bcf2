//! mio's own wait.

use super::EVENTS;
use crate::driver::readiness::Facts;
use heist_sync::Mutex;
use std::io;
use std::time::Duration;

#[derive(Debug)]
pub(in crate::driver) struct Poller {
    registry: mio::Registry,
    inner: Mutex<(mio::Poll, mio::Events)>,
}

impl Poller {
    pub fn open() -> io::Result<Self> {
        let poll = mio::Poll::new()?;
        let registry = poll.registry().try_clone()?;
        Ok(Self { registry, inner: Mutex::new((poll, mio::Events::with_capacity(EVENTS))) })
    }

    pub fn registry(&self) -> &mio::Registry {
        &self.registry
    }

    /// As for epoll.
    pub fn wait(
        &self,
        timeout: Option<Duration>,
        before: impl FnOnce(),
        woken: impl FnOnce(),
        mut each: impl FnMut(usize, Facts),
    ) -> io::Result<()> {
        let Some(mut inner) = super::super::reactor::try_lock(&self.inner) else {
            woken();
            return Ok(());
        };
        before();
        let (poll, events) = &mut *inner;
        let polled = match poll.poll(events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            result => result,
        };
        woken();
        polled?;
        for event in &*events {
            each(event.token().0, facts(event));
        }
        Ok(())
    }
}

fn facts(event: &mio::event::Event) -> Facts {
    let all = [
        (event.is_readable() || event.is_error(), Facts::READABLE),
        (event.is_writable() || event.is_error(), Facts::WRITABLE),
        (event.is_read_closed(), Facts::READ_CLOSED),
        (event.is_write_closed(), Facts::WRITE_CLOSED),
    ];
    all.into_iter().filter(|(is, _)| *is).fold(Facts::NONE, |facts, (_, fact)| facts | fact)
}
