//! Makes the kernel refuse new threads for a while. To be called in a child process: it changes the user.

use std::ffi::c_int;

#[repr(C)]
struct Limit {
    now: u64,
    most: u64,
}

/// Somebody who has no other processes.
const NOBODYS_UID: u32 = 54_321;
const RLIMIT_NPROC: c_int = 6;
const PR_SET_DUMPABLE: c_int = 4;

unsafe extern "C" {
    fn getuid() -> u32;
    fn setuid(uid: u32) -> c_int;
    fn getrlimit(what: c_int, limit: *mut Limit) -> c_int;
    fn setrlimit(what: c_int, limit: *const Limit) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
}

/// What was allowed before.
pub struct Refused(Limit);

/// The limit does not hold for root, so root becomes somebody else first, once and for all.
pub fn become_nobody() {
    // SAFETY: no arguments.
    if unsafe { getuid() } != 0 {
        return;
    }
    // SAFETY: takes a number.
    assert_eq!(unsafe { setuid(NOBODYS_UID) }, 0, "{}", std::io::Error::last_os_error());
    // The files under /proc/self are ours again. SAFETY: takes numbers.
    assert_eq!(unsafe { prctl(PR_SET_DUMPABLE, 1_u64, 0_u64, 0_u64, 0_u64) }, 0);
}

/// From now on no thread can be started.
pub fn refuse() -> Refused {
    let mut before = Limit { now: 0, most: 0 };
    // SAFETY: the kernel writes a limit to where the pointer says.
    assert_eq!(unsafe { getrlimit(RLIMIT_NPROC, &raw mut before) }, 0);
    let none = Limit { now: 1, most: before.most };
    // SAFETY: the kernel reads a limit.
    assert_eq!(unsafe { setrlimit(RLIMIT_NPROC, &raw const none) }, 0);
    std::thread::Builder::new().spawn(|| ()).expect_err("threads are refused");
    Refused(before)
}

impl Refused {
    /// Threads can be started again.
    pub fn allow(self) {
        // SAFETY: the kernel reads a limit.
        assert_eq!(unsafe { setrlimit(RLIMIT_NPROC, &raw const self.0) }, 0);
        std::thread::Builder::new().spawn(|| ()).expect("threads are allowed").join().unwrap();
    }
}
