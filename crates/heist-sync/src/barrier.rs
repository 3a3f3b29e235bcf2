//! An asymmetric store-load barrier: nearly free on the side that runs often, expensive on the side that runs rarely.
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
        #[cfg(all(target_os = "linux", not(miri)))]
        if is_asymmetric() {
            use rustix::thread::{MembarrierCommand, membarrier};
            if let Err(error) = membarrier(MembarrierCommand::PrivateExpedited) {
                super::refused::heavy(error);
            }
        }
        fence(Ordering::SeqCst);
    }
}

/// `membarrier` worked at the start, and a filter that was installed since forbids it.
#[cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod refused {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::sync::Once;

    /// Visits every CPU: a thread of ours that ran there has been switched out by then, which is a full fence for it. Some 10 us
    /// for each CPU. That may be refused too, and other threads may have other CPUs; so it also takes a right from a page,
    /// which makes the kernel interrupt every CPU that runs this process, where it does so by interrupts (x86).
    pub fn heavy(error: rustix::io::Errno) {
        static TOLD: Once = Once::new();
        TOLD.call_once(|| {
            crate::warn(format_args!(
                "membarrier worked at start and is now refused ({error}); heist goes on with a slower way. Set HEIST_FENCED=1 if a \
                 seccomp filter is installed while the program runs"
            ));
        });
        visit_all_cpus();
        protect_a_page();
    }

    fn visit_all_cpus() {
        let Ok(own) = sched_getaffinity(None) else { return };
        for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| own.is_set(cpu)) {
            let mut one = CpuSet::new();
            one.set(cpu);
            let _ = sched_setaffinity(None, &one);
        }
        let _ = sched_setaffinity(None, &own);
    }

    fn protect_a_page() {
        use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
        const LEN: usize = 4096;
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let Ok(page) = (unsafe { mmap_anonymous(std::ptr::null_mut(), LEN, rights, MapFlags::PRIVATE) })
        else {
            return;
        };
        // SAFETY: ours, and writable; the page must be there for its rights to be taken from anybody.
        unsafe { page.cast::<u8>().write_volatile(1) };
        // SAFETY: ours.
        let _ = unsafe { mprotect(page, LEN, MprotectFlags::READ) };
        // SAFETY: ours, and nobody uses it.
        let _ = unsafe { munmap(page, LEN) };
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn the_mask_is_as_before() {
            let own = rustix::thread::sched_getaffinity(None).unwrap();
            super::heavy(rustix::io::Errno::PERM);
            super::protect_a_page();
            assert_eq!(rustix::thread::sched_getaffinity(None).unwrap(), own);
        }
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
