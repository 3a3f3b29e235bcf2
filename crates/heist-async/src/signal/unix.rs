//! Unix's signals by their names.

use crate::net::UnixStream;
use heist_sync::process::Origin;
use signal_hook::consts;
use signal_hook::{SigId, low_level};
use std::io;
use std::os::fd::AsRawFd;

/// Which signal.
///
/// ```
/// use heist::signal::unix::SignalKind;
///
/// assert_eq!(SignalKind::from_raw(15), SignalKind::terminate());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SignalKind(i32);

/// A constructor for each name.
macro_rules! kinds {
    ($($name:ident, $signal:ident, $meaning:literal;)*) => {
        impl SignalKind {
            $(
                #[doc = concat!("`", stringify!($signal), "`: ", $meaning)]
                ///
                /// ```
                /// use heist::signal::unix::SignalKind;
                ///
                #[doc = concat!("assert!(SignalKind::", stringify!($name), "().as_raw() > 0);")]
                /// ```
                pub const fn $name() -> Self {
                    Self(consts::$signal)
                }
            )*
        }
    };
}

kinds! {
    alarm, SIGALRM, "a timer of the system has run out.";
    child, SIGCHLD, "a child process has ended or stopped.";
    hangup, SIGHUP, "the terminal is gone; by convention, read the configuration again.";
    interrupt, SIGINT, "Ctrl-C.";
    pipe, SIGPIPE, "written to a pipe that nobody reads.";
    quit, SIGQUIT, "Ctrl-\\.";
    terminate, SIGTERM, "a polite request to end, as `kill` and service managers send it.";
    user_defined1, SIGUSR1, "whatever the program says.";
    user_defined2, SIGUSR2, "whatever the program says.";
    window_change, SIGWINCH, "the terminal has another size.";
}

impl SignalKind {
    /// The signal of that number.
    ///
    /// ```
    /// use heist::signal::unix::SignalKind;
    ///
    /// assert_eq!(SignalKind::from_raw(2).as_raw(), 2);
    /// ```
    pub const fn from_raw(number: i32) -> Self {
        Self(number)
    }

    /// The signal's number.
    ///
    /// See [`from_raw`](Self::from_raw) for an example.
    pub const fn as_raw(self) -> i32 {
        self.0
    }
}

/// Catches a signal from now on.
///
/// # Errors
/// `InvalidInput` for a signal that no program may catch (`SIGKILL`, `SIGSTOP`) or none should (`SIGSEGV`, `SIGILL`, `SIGFPE`); what
/// the system says, if it knows no such signal or has no socket left.
///
/// ```
/// use heist::signal::unix::{SignalKind, signal};
///
/// let mut changes = signal(SignalKind::window_change())?;
/// heist::task::spawn(async move {
///     while changes.recv().await.is_ok() {
///         println!("the window has another size");
///     }
/// });
/// # std::io::Result::Ok(())
/// ```
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    if consts::FORBIDDEN.contains(&kind.0) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("signal {} cannot be caught", kind.0),
        ));
    }
    let (notices, writer) = std::os::unix::net::UnixStream::pair()?;
    let notices = UnixStream::from_std(notices)?;
    let origin = Origin::here();
    let notice = move || {
        // A child process has the same socket: its signals are not the parent's.
        if !origin.is_foreign() {
            write_notice(&writer);
        }
    };
    // SAFETY: two loads and a system call that a handler may make; it neither locks nor allocates nor panics.
    let id = unsafe { low_level::register(kind.0, notice) }?;
    Ok(Signal { kind, id, notices, origin })
}

/// Called in a signal handler. A byte that does not fit is not missed: there is one already.
fn write_notice(writer: &std::os::unix::net::UnixStream) {
    // SAFETY: the byte lives through the call.
    unsafe { libc::send(writer.as_raw_fd(), b"X".as_ptr().cast(), 1, libc::MSG_DONTWAIT) };
}

/// A signal that is caught: what [`signal`] returns. Any number of them may be there for one kind, and each gets to know of it.
///
/// ```
/// use heist::signal::unix::{SignalKind, signal};
/// use heist::time::{Duration, timeout};
///
/// # heist::block_on(async {
/// let mut user = signal(SignalKind::user_defined1())?;
/// assert!(timeout(Duration::from_millis(1), user.recv()).await.is_err());
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
#[must_use = "dropping it forgets the signal"]
pub struct Signal {
    kind: SignalKind,
    id: SigId,
    /// A byte for each signal that has come.
    notices: UnixStream,
    origin: Origin,
}

impl Signal {
    /// Waits until the signal has come, since the last time or since [`signal`] was called. Several that came meanwhile are one.
    ///
    /// A future that is dropped has taken nothing.
    ///
    /// # Errors
    /// If the pool that watches for it is gone.
    ///
    /// See [`signal`] for an example.
    pub async fn recv(&mut self) -> io::Result<()> {
        match self.notices.read(&mut [0; 256]).await? {
            0 => Err(io::ErrorKind::BrokenPipe.into()),
            _ => Ok(()),
        }
    }

    /// Which signal it is.
    ///
    /// ```
    /// use heist::signal::unix::{SignalKind, signal};
    ///
    /// let user = signal(SignalKind::user_defined2())?;
    /// assert_eq!(user.kind(), SignalKind::user_defined2());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn kind(&self) -> SignalKind {
        self.kind
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // In a child process nothing comes of it any more, and what would be changed may be locked.
        if !self.origin.is_foreign() {
            low_level::unregister(self.id);
        }
    }
}
