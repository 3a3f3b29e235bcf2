//! An asymmetric store-load barrier: nearly free on the side that runs often, dear on the side that runs rarely.
//!
//! Two threads that each write one word and then read the other's (Dekker's pattern) need a full fence on both sides, or
//! both may miss the other's write. [`light`] is such a fence for the hot side and costs no instruction; [`heavy`], on the
//! rare side, makes the kernel run a real fence on every core that runs a thread of this process (`membarrier`).
//!
//! Where the kernel has no `membarrier` (an old one, a seccomp filter, another system), [`is_asymmetric`] is false and
//! [`light`] on its own orders nothing: the hot side must then call `fence(SeqCst)` itself. heist's owners do so by never
//! leaving their slow path.

#[cfg(any(heist_loom, heist_shuttle))]
mod imp {
    use crate::atomic::{Ordering, fence};

    pub fn is_asymmetric() -> bool {
        true
    }
    pub fn light() {
        fence(Ordering::SeqCst);
    }
    pub fn heavy() {
        fence(Ordering::SeqCst);
    }
}

#[cfg(not(any(heist_loom, heist_shuttle)))]
mod imp {
    use std::sync::OnceLock;
    use std::sync::atomic::{Ordering, compiler_fence, fence};

    static ASYMMETRIC: OnceLock<bool> = OnceLock::new();

    #[cfg(all(target_os = "linux", not(miri)))]
    fn register() -> bool {
        use rustix::thread::{MembarrierCommand, membarrier};
        membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
            && membarrier(MembarrierCommand::PrivateExpedited).is_ok()
    }

    #[cfg(any(not(target_os = "linux"), miri))]
    fn register() -> bool {
        false
    }

    pub fn is_asymmetric() -> bool {
        *ASYMMETRIC.get_or_init(|| {
            let forced_off = std::env::var_os("HEIST_FENCED").is_some_and(|v| v != "0" && !v.is_empty());
            !forced_off && register()
        })
    }

    #[inline(always)]
    pub fn light() {
        compiler_fence(Ordering::SeqCst);
    }

    pub fn heavy() {
        fence(Ordering::SeqCst);
        if is_asymmetric() {
            #[cfg(all(target_os = "linux", not(miri)))]
            {
                use rustix::thread::{MembarrierCommand, membarrier};
                // Registered in `is_asymmetric`, so it cannot fail; if a filter was installed since, silence here would
                // be a data race later.
                if let Err(e) = membarrier(MembarrierCommand::PrivateExpedited) {
                    eprintln!(
                        "heist: membarrier worked at start and is now refused ({e}); set HEIST_FENCED=1 if a seccomp \
                         filter is installed while the program runs"
                    );
                    std::process::abort();
                }
            }
        }
        fence(Ordering::SeqCst);
    }
}

/// Whether [`light`] and [`heavy`] pair up in this process. The answer never changes once given. `HEIST_FENCED=1` in the
/// environment makes it false.
///
/// ```
/// let _ = heist_sync::barrier::is_asymmetric();
/// ```
pub fn is_asymmetric() -> bool {
    imp::is_asymmetric()
}

/// The hot side: keeps the compiler from moving memory accesses across, costs no instruction.
///
/// ORDERING: stands for `fence(SeqCst)` where [`is_asymmetric`]; its partner is [`heavy`].
#[inline(always)]
pub fn light() {
    imp::light()
}

/// The rare side: a `fence(SeqCst)` here and, where [`is_asymmetric`], on every core that runs a thread of this process.
///
/// ORDERING: partner of [`light`]. Microseconds, not nanoseconds: for parking and for forcing, never per steal.
pub fn heavy() {
    imp::heavy()
}
