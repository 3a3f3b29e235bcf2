//! A child by `fork(2)`, and the parent that waits for it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

/// How long a child may take before it counts as hung.
const LIMIT: Duration = Duration::from_secs(90);

/// A child that runs.
#[must_use]
pub struct Forked {
    pid: libc::pid_t,
    /// Readable once the child has ended.
    descriptor: i32,
}

/// Forks. `None` in the child.
pub fn fork() -> Option<Forked> {
    // SAFETY: that a program may fork on any thread is what is tested.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        return None;
    }
    // SAFETY: two numbers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
    assert!(descriptor >= 0, "pidfd_open: {}", std::io::Error::last_os_error());
    Some(Forked { pid, descriptor })
}

/// Ends the calling process at once.
pub fn end(status: i32) -> ! {
    // SAFETY: a number.
    unsafe { libc::_exit(status) }
}

/// Runs `f` in a child, which ends with status 0, or with 101 if `f` panics. The parent waits for it.
pub fn in_child(f: impl FnOnce()) {
    match fork() {
        Some(child) => assert_eq!(child.status(), 0),
        None => end(if catch_unwind(AssertUnwindSafe(f)).is_ok() { 0 } else { 101 }),
    }
}

impl Forked {
    /// The status with which it has ended by itself.
    pub fn status(self) -> i32 {
        let mut ended = libc::pollfd { fd: self.descriptor, events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry.
        let has_ended = unsafe { libc::poll(&raw mut ended, 1, LIMIT.as_millis() as i32) } == 1;
        if !has_ended {
            // SAFETY: two numbers.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
        let mut status = 0;
        // SAFETY: it writes a number.
        assert_eq!(unsafe { libc::waitpid(self.pid, &raw mut status, 0) }, self.pid);
        // SAFETY: ours, and not used after.
        unsafe { libc::close(self.descriptor) };
        assert!(has_ended, "the child hangs");
        assert!(libc::WIFEXITED(status), "the child was ended by signal {}", libc::WTERMSIG(status));
        libc::WEXITSTATUS(status)
    }
}

/// As [`message_of`], for a call that says where it was made.
#[track_caller]
pub fn message_here<R>(f: impl FnOnce() -> R) -> String {
    static SAID: Mutex<Option<String>> = Mutex::new(None);
    std::panic::set_hook(Box::new(|info| {
        *SAID.lock().unwrap() = info.location().map(|at| at.file().to_owned());
    }));
    let message = message_of(f);
    drop(std::panic::take_hook());
    assert_eq!(SAID.lock().unwrap().as_deref(), Some(Location::caller().file()), "where it panicked");
    message
}

/// What `f` says when it panics.
pub fn message_of<R>(f: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { panic!("there was no panic") };
    text_of(&*payload)
}

/// What a panic said.
pub fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| String::from(*text));
    text.or_else(|| payload.downcast_ref().cloned()).unwrap_or_default()
}

/// Expects that it is told of the fork, and what to do.
pub fn assert_named(message: &str) {
    assert!(message.contains("fork()") && message.contains("child"), "{message}");
}
