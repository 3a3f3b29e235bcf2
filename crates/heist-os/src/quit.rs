//! SIGQUIT as something that a thread can wait for.

#[cfg(all(target_os = "linux", not(any(heist_model, miri))))]
pub use linux::{Quits, listen};
#[cfg(not(all(target_os = "linux", not(any(heist_model, miri)))))]
pub use other::{Quits, listen};

#[cfg(all(target_os = "linux", not(any(heist_model, miri))))]
mod linux {
    use heist_sync::std_atomic::{AtomicI32, Ordering};
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::sync::OnceLock;

    /// Where the handler writes, and in which process; -1 while there is none.
    static DESCRIPTOR: AtomicI32 = AtomicI32::new(-1);
    static PROCESS: AtomicI32 = AtomicI32::new(-1);
    /// What the signal did before.
    static BEFORE: OnceLock<Before> = OnceLock::new();

    struct Before(libc::sigaction);

    // SAFETY: plain numbers and the address of a function.
    unsafe impl Send for Before {}
    // SAFETY: as above.
    unsafe impl Sync for Before {}

    /// The signals that have come.
    #[derive(Debug)]
    pub struct Quits(File);

    impl Quits {
        /// None so far; they come once somebody [`listen`]s.
        ///
        /// # Errors
        /// If the system has no descriptor left.
        pub fn new() -> io::Result<Self> {
            // SAFETY: no pointers.
            let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: just made, and nobody else's.
            let quits = Self(unsafe { File::from_raw_fd(descriptor) });
            DESCRIPTOR.store(quits.0.as_raw_fd(), Ordering::Relaxed);
            // SAFETY: no arguments.
            PROCESS.store(unsafe { libc::getpid() }, Ordering::Relaxed);
            Ok(quits)
        }

        /// Sleeps until there is one. False if that cannot be told any more.
        pub fn wait(&self) -> bool {
            let mut count = [0; 8];
            loop {
                match (&self.0).read(&mut count) {
                    Ok(_) => return true,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return false,
                }
            }
        }
    }

    impl Drop for Quits {
        fn drop(&mut self) {
            DESCRIPTOR.store(-1, Ordering::Relaxed);
        }
    }

    /// Only what a handler may do: it reads words, writes to a descriptor, and leaves `errno` as it was.
    extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: each of these may be called in a handler; `errno` is the thread's own.
        unsafe {
            let errno = *libc::__errno_location();
            let descriptor = DESCRIPTOR.load(Ordering::Relaxed);
            let is_here = PROCESS.load(Ordering::Relaxed) == libc::getpid();
            if is_here && descriptor >= 0 {
                let one = 1_u64;
                libc::write(descriptor, (&raw const one).cast(), size_of::<u64>());
            }
            let before = BEFORE.get().map_or(libc::SIG_DFL, |before| before.0.sa_sigaction);
            match before {
                libc::SIG_IGN => {}
                libc::SIG_DFL if is_here => {}
                libc::SIG_DFL => {
                    // The descriptor is the parent process's. The signal does here what it always did.
                    libc::signal(signal, libc::SIG_DFL);
                    libc::raise(signal);
                }
                handler if BEFORE.get().is_some_and(|b| b.0.sa_flags & libc::SA_SIGINFO != 0) => {
                    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                    std::mem::transmute::<usize, Handler>(handler)(signal, info, context);
                }
                handler => {
                    std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(handler)(signal);
                }
            }
            *libc::__errno_location() = errno;
        }
    }

    /// From here on the signal is told to [`Quits`].
    ///
    /// # Errors
    /// What the system says.
    pub fn listen() -> io::Result<()> {
        // SAFETY: all zeroes are a valid one.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        // SAFETY: the set is ours.
        unsafe { libc::sigemptyset(&raw mut action.sa_mask) };
        // SAFETY: as above.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: both are valid; the handler does only what handlers may do.
        if unsafe { libc::sigaction(libc::SIGQUIT, &raw const action, &raw mut before) } != 0 {
            return Err(io::Error::last_os_error());
        }
        if before.sa_sigaction != action.sa_sigaction {
            let _ = BEFORE.set(Before(before));
        }
        Ok(())
    }
}

#[cfg(not(all(target_os = "linux", not(any(heist_model, miri)))))]
mod other {
    use std::io;

    /// There are none.
    #[derive(Debug)]
    pub struct Quits(());

    impl Quits {
        /// They cannot be had.
        ///
        /// # Errors
        /// Always.
        pub fn new() -> io::Result<Self> {
            Err(io::Error::new(io::ErrorKind::Unsupported, "heist catches SIGQUIT on Linux only"))
        }

        /// There is none.
        pub fn wait(&self) -> bool {
            false
        }
    }

    /// See [`Quits::new`].
    ///
    /// # Errors
    /// Always.
    pub fn listen() -> io::Result<()> {
        Quits::new().map(drop)
    }
}
