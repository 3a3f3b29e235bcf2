//! The few names of the C library that heist uses on Linux, as crate libc declares them.
//!
//! They are declared here for the usual platforms, because to build that crate for a dozen calls takes longer than to build anything
//! else that a program on heist needs, but for its pool and its loops. On other platforms they come from there. Tests compare the two.

#[cfg(all(
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    any(target_env = "gnu", target_env = "musl")
))]
pub use declared::*;

#[cfg(not(all(
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    any(target_env = "gnu", target_env = "musl")
)))]
pub use libc::*;

#[cfg(all(
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    any(target_env = "gnu", target_env = "musl")
))]
mod declared {
    #![allow(non_camel_case_types, non_upper_case_globals)]
    #![expect(missing_docs, reason = "the C library's manual has them")]

    pub use std::ffi::{c_int, c_long, c_ulong, c_void};

    pub type clockid_t = c_int;
    pub type pid_t = i32;
    pub type pthread_t = c_ulong;
    pub type time_t = i64;

    #[derive(Debug, Clone, Copy)]
    #[repr(C)]
    pub struct timespec {
        pub tv_sec: time_t,
        pub tv_nsec: c_long,
    }

    #[derive(Debug, Clone, Copy)]
    #[repr(C)]
    pub struct cpu_set_t {
        bits: [c_ulong; CPU_SETSIZE as usize / c_ulong::BITS as usize],
    }

    /// At least as large and as aligned as any of the C libraries has it.
    #[derive(Debug)]
    #[repr(C)]
    pub struct pthread_attr_t {
        words: [u64; 8],
    }

    pub const CLOCK_MONOTONIC_COARSE: clockid_t = 6;
    pub const CPU_SETSIZE: c_int = 1024;
    pub const EPERM: c_int = 1;
    pub const FUTEX_PRIVATE_FLAG: c_int = 128;
    pub const FUTEX_WAIT: c_int = 0;
    pub const FUTEX_WAKE: c_int = 1;
    pub const MAP_ANONYMOUS: c_int = 0x20;
    pub const MAP_FAILED: *mut c_void = !0 as *mut c_void;
    pub const MAP_PRIVATE: c_int = 2;
    pub const MEMBARRIER_CMD_PRIVATE_EXPEDITED: c_int = 8;
    pub const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: c_int = 16;
    pub const PROT_READ: c_int = 1;
    pub const PROT_WRITE: c_int = 2;

    #[cfg(target_arch = "x86_64")]
    mod numbers {
        use super::c_long;

        pub const SYS_futex: c_long = 202;
        pub const SYS_gettid: c_long = 186;
        pub const SYS_membarrier: c_long = 324;
    }

    #[cfg(target_arch = "aarch64")]
    mod numbers {
        use super::c_long;

        pub const SYS_futex: c_long = 98;
        pub const SYS_gettid: c_long = 178;
        pub const SYS_membarrier: c_long = 283;
    }

    pub use numbers::{SYS_futex, SYS_gettid, SYS_membarrier};

    unsafe extern "C" {
        pub fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int;
        pub fn mmap(
            at: *mut c_void,
            length: usize,
            rights: c_int,
            flags: c_int,
            file: c_int,
            offset: i64,
        ) -> *mut c_void;
        pub fn mprotect(at: *mut c_void, length: usize, rights: c_int) -> c_int;
        pub fn munmap(at: *mut c_void, length: usize) -> c_int;
        pub fn pthread_attr_destroy(attributes: *mut pthread_attr_t) -> c_int;
        pub fn pthread_attr_getstack(
            attributes: *const pthread_attr_t,
            end: *mut *mut c_void,
            size: *mut usize,
        ) -> c_int;
        pub fn pthread_getattr_np(thread: pthread_t, attributes: *mut pthread_attr_t) -> c_int;
        pub fn pthread_self() -> pthread_t;
        pub fn sched_getaffinity(thread: pid_t, size: usize, set: *mut cpu_set_t) -> c_int;
        pub fn sched_getcpu() -> c_int;
        pub fn sched_setaffinity(thread: pid_t, size: usize, set: *const cpu_set_t) -> c_int;
        pub fn syscall(number: c_long, ...) -> c_long;
    }

    /// # Safety
    /// `cpu` is below [`CPU_SETSIZE`].
    #[expect(non_snake_case)]
    pub unsafe fn CPU_ISSET(cpu: usize, set: &cpu_set_t) -> bool {
        let bits = c_ulong::BITS as usize;
        set.bits[cpu / bits] & (1 << (cpu % bits)) != 0
    }

    /// # Safety
    /// `cpu` is below [`CPU_SETSIZE`].
    #[expect(non_snake_case)]
    pub unsafe fn CPU_SET(cpu: usize, set: &mut cpu_set_t) {
        let bits = c_ulong::BITS as usize;
        set.bits[cpu / bits] |= 1 << (cpu % bits);
    }

    #[cfg(test)]
    mod tests {
        macro_rules! assert_same {
            ($($name:ident)*) => {
                $(assert_eq!(super::$name, libc::$name, stringify!($name));)*
            };
        }

        #[test]
        fn the_numbers_are_those_of_crate_libc() {
            assert_same!(CLOCK_MONOTONIC_COARSE CPU_SETSIZE EPERM FUTEX_PRIVATE_FLAG FUTEX_WAIT FUTEX_WAKE);
            assert_same!(MAP_ANONYMOUS MAP_FAILED MAP_PRIVATE PROT_READ PROT_WRITE);
            assert_same!(MEMBARRIER_CMD_PRIVATE_EXPEDITED MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
            assert_same!(SYS_futex SYS_gettid SYS_membarrier);
        }

        #[test]
        fn the_types_are_those_of_crate_libc() {
            assert_eq!(size_of::<super::cpu_set_t>(), size_of::<libc::cpu_set_t>());
            assert_eq!(size_of::<super::pid_t>(), size_of::<libc::pid_t>());
            assert_eq!(size_of::<super::pthread_t>(), size_of::<libc::pthread_t>());
            assert_eq!(size_of::<super::timespec>(), size_of::<libc::timespec>());
            assert!(size_of::<super::pthread_attr_t>() >= size_of::<libc::pthread_attr_t>());
            assert!(align_of::<super::pthread_attr_t>() >= align_of::<libc::pthread_attr_t>());
        }

        #[test]
        fn a_set_has_the_bits_of_crate_libcs() {
            // SAFETY: all zeroes are the empty set, in both.
            let (mut own, mut theirs) = unsafe { std::mem::zeroed::<(super::cpu_set_t, libc::cpu_set_t)>() };
            for cpu in [0, 1, 63, 64, 1023] {
                // SAFETY: below the limit.
                unsafe { super::CPU_SET(cpu, &mut own) };
                // SAFETY: as above.
                unsafe { libc::CPU_SET(cpu, &mut theirs) };
            }
            for cpu in 0..super::CPU_SETSIZE as usize {
                // SAFETY: below the limit.
                let is_in_own = unsafe { super::CPU_ISSET(cpu, &own) };
                // SAFETY: as above; and the types have the same size.
                let is_in_theirs = unsafe { libc::CPU_ISSET(cpu, &*(&raw const own).cast()) };
                assert_eq!(is_in_own, is_in_theirs, "CPU {cpu}");
                // SAFETY: as above.
                assert_eq!(is_in_own, unsafe { libc::CPU_ISSET(cpu, &theirs) }, "CPU {cpu}");
            }
        }
    }
}
