//! An asymmetric store-load barrier: nearly free on the side that runs often, expensive on the side that runs rarely.
//!
//! Two threads that each write one word and then read the other's (Dekker's pattern) need a full fence on both sides, or
//! both may miss the other's write. [`light`] is such a fence for the hot side and costs no instruction; [`heavy`], on the
//! rare side, makes the kernel run a real fence on every core that runs a thread of this process (`membarrier`).
//!
//! Where the kernel has no `membarrier` (an old one, a seccomp filter, another system), [`is_asymmetric`] is false and
//! [`light`] on its own orders nothing: the hot side must then call `fence(SeqCst)` itself. heist's owners do so by never
//! leaving their slow path.

#[cfg(heist_model)]
mod imp {
    use crate::atomic::{Ordering, fence};

    pub fn is_asymmetric() -> bool {
        true
    }
    pub fn light() {
        fence(Ordering::SeqCst);
    }
    pub fn light_unless(is_fenced: impl FnOnce() -> bool) {
        if !is_fenced() {
            light();
        }
    }
    pub fn heavy() {
        fence(Ordering::SeqCst);
    }
}

#[cfg(not(heist_model))]
mod imp {
    use crate::process::PerProcess;
    use std::sync::OnceLock;
    use std::sync::atomic::{Ordering, compiler_fence, fence};

    static ASYMMETRIC: PerProcess<OnceLock<bool>> = PerProcess::new(OnceLock::new(), OnceLock::new);

    #[cfg(all(target_os = "linux", not(miri)))]
    fn register() -> bool {
        use super::system::membarrier;
        membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED).is_ok()
            && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED).is_ok()
    }

    #[cfg(any(not(target_os = "linux"), miri))]
    fn register() -> bool {
        false
    }

    pub fn is_asymmetric() -> bool {
        *ASYMMETRIC.get().get_or_init(|| {
            let forced_off = crate::switch("HEIST_FENCED") == Some(true);
            !forced_off && register()
        })
    }

    #[inline(always)]
    pub fn light() {
        compiler_fence(Ordering::SeqCst);
    }

    #[inline(always)]
    pub fn light_unless(_is_fenced: impl FnOnce() -> bool) {
        light();
    }

    pub fn heavy() {
        fence(Ordering::SeqCst);
        #[cfg(all(target_os = "linux", not(miri)))]
        if is_asymmetric()
            && let Err(error) = super::system::membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
        {
            super::refused::heavy(&error);
        }
        fence(Ordering::SeqCst);
    }
}

/// The calls that libc has no safe names for.
#[cfg(all(target_os = "linux", not(any(heist_model, miri))))]
mod system {
    use std::io;

    pub fn membarrier(command: libc::c_int) -> io::Result<()> {
        // SAFETY: three numbers; it touches no memory of ours.
        match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The CPUs of the calling thread.
    pub fn affinity() -> io::Result<libc::cpu_set_t> {
        let mut set = std::mem::MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: it writes at most as much as a set has room for.
        match unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) } {
            // SAFETY: all zeroes are a set, and so is what was written over them.
            0 => Ok(unsafe { set.assume_init() }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub fn set_affinity(set: &libc::cpu_set_t) -> io::Result<()> {
        // SAFETY: it reads one set.
        match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// `membarrier` worked at the start, and a filter that was installed since forbids it.
#[cfg(all(target_os = "linux", not(any(heist_model, miri))))]
mod refused {
    use super::system::{affinity, set_affinity};
    use crate::process::PerProcess;
    use std::io;
    use std::sync::Once;

    /// Visits every CPU: a thread of ours that ran there has been switched out by then, which is a full fence for it. Some 10 us
    /// for each CPU. That may be refused too, and other threads may have other CPUs; so it also takes a right from a page,
    /// which makes the kernel interrupt every CPU that runs this process, where it does so by interrupts (x86).
    pub fn heavy(error: &io::Error) {
        static TOLD: PerProcess<Once> = PerProcess::new(Once::new(), Once::new);
        TOLD.get().call_once(|| {
            crate::warn(format_args!(
                "membarrier worked at start and is now refused ({error}); heist goes on with a slower way. Set HEIST_FENCED=1 if a \
                 seccomp filter is installed while the program runs"
            ));
        });
        visit_all_cpus();
        protect_a_page();
    }

    fn visit_all_cpus() {
        let Ok(own) = affinity() else { return };
        for cpu in 0..libc::CPU_SETSIZE as usize {
            // SAFETY: the set has a bit for this number.
            if unsafe { libc::CPU_ISSET(cpu, &own) } {
                // SAFETY: all zeroes are the empty set.
                let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
                // SAFETY: the set has a bit for this number.
                unsafe { libc::CPU_SET(cpu, &mut one) };
                let _ = set_affinity(&one);
            }
        }
        let _ = set_affinity(&own);
    }

    fn protect_a_page() {
        const LEN: usize = 4096;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), LEN, rights, kind, -1, 0) };
        if page == libc::MAP_FAILED {
            return;
        }
        // SAFETY: ours, and writable; the page must be there for its rights to be taken from anybody.
        unsafe { page.cast::<u8>().write_volatile(1) };
        // SAFETY: ours.
        unsafe { libc::mprotect(page, LEN, libc::PROT_READ) };
        // SAFETY: ours, and nobody uses it.
        unsafe { libc::munmap(page, LEN) };
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn the_mask_is_as_before() {
            let own = super::affinity().unwrap();
            super::heavy(&std::io::Error::from_raw_os_error(libc::EPERM));
            super::protect_a_page();
            // SAFETY: it compares two sets.
            assert!(unsafe { libc::CPU_EQUAL(&super::affinity().unwrap(), &own) });
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

/// As [`light`], for a hot side that may be fenced, in which case this orders nothing. The checkers, to whom [`light`] is a full fence,
/// ask; nobody else does.
#[inline(always)]
pub fn light_unless(is_fenced: impl FnOnce() -> bool) {
    imp::light_unless(is_fenced)
}

/// The rare side: a `fence(SeqCst)` here and, where [`is_asymmetric`], on every core that runs a thread of this process.
///
/// ORDERING: partner of [`light`]. Microseconds, not nanoseconds: for parking and for forcing, never per steal.
pub fn heavy() {
    imp::heavy()
}
