//! What the kernel says of a thread, and where it should run. Every question has an answer on every platform; where the kernel
//! has none to give, the answer is the one that costs only speed.

#[cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod imp {
    use std::io::Read;

    pub fn tid() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get() as u32
    }

    fn read<const N: usize>(tid: u32, file: &str, buffer: &mut [u8; N]) -> Option<usize> {
        let mut file = std::fs::File::open(format!("/proc/self/task/{tid}/{file}")).ok()?;
        file.read(buffer).ok()
    }

    /// State letter of a thread of this process.
    fn state(tid: u32) -> Option<u8> {
        let mut buffer = [0; 128];
        let n = read(tid, "stat", &mut buffer)?;
        parse_state(&buffer[..n])
    }

    /// The name may hold anything, so the state is looked for behind its last parenthesis.
    pub(super) fn parse_state(line: &[u8]) -> Option<u8> {
        let after = line.iter().rposition(|&b| b == b')')? + 2;
        line.get(after).copied()
    }

    /// The core of a thread that runs or waits for its core.
    pub(super) fn parse_core(line: &[u8]) -> Option<usize> {
        /// Fields from the state to the core.
        const FROM_STATE: usize = 36;
        let after = line.iter().rposition(|&b| b == b')')? + 2;
        let mut fields = line.get(after..)?.split(|&b| b == b' ');
        if fields.next()? != b"R" {
            return None;
        }
        std::str::from_utf8(fields.nth(FROM_STATE - 1)?).ok()?.parse().ok()
    }

    pub fn computes_on(tid: u32) -> Option<usize> {
        let mut buffer = [0; 512];
        let n = read(tid, "stat", &mut buffer)?;
        parse_core(&buffer[..n])
    }

    /// The first number of the line.
    pub(super) fn parse_ns(line: &[u8]) -> Option<u64> {
        let number = line.split(|&b| b == b' ').next()?;
        std::str::from_utf8(number).ok()?.parse().ok()
    }

    pub fn is_asleep(tid: u32) -> bool {
        // A thread that is gone is not going to run either.
        tid == 0 || state(tid).is_none_or(|state| matches!(state, b'S' | b'D' | b'T' | b'Z'))
    }

    pub fn cpu_ns(tid: u32) -> u64 {
        let mut buffer = [0; 128];
        read(tid, "schedstat", &mut buffer).and_then(|n| parse_ns(&buffer[..n])).unwrap_or(0)
    }
}

#[cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod slice {
    /// The kernel's `struct sched_attr` in its first version.
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }

    /// Since Linux 6.12 an ordinary thread's `runtime` is its slice; before that it is ignored. `tid` 0 is the caller.
    pub fn set(tid: u32, ns: u64) {
        let mut attributes = Attributes::default();
        let size = size_of::<Attributes>();
        // SAFETY: the kernel writes at most `size` bytes to where the pointer says.
        let got = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut attributes, size, 0) };
        if got != 0 || attributes.policy != libc::SCHED_OTHER as u32 {
            // Refused, or the program has chosen another policy for its threads.
            return;
        }
        attributes.size = size as u32;
        attributes.runtime = ns;
        // SAFETY: the kernel reads `size` bytes. A refusal changes nothing.
        let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const attributes, 0) };
    }

    pub fn set_own_timer_slack(ns: u64) {
        // SAFETY: takes a number.
        let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong, 0, 0, 0) };
    }
}

#[cfg(not(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri)))))]
mod slice {
    pub fn set(_: u32, _: u64) {}
    #[cfg_attr(any(heist_loom, heist_shuttle), allow(dead_code))]
    pub fn set_own_timer_slack(_: u64) {}
}

/// How long a thread asks to run at a time. It gets no more time by that, and no less.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Slice {
    /// As the kernel thinks fit.
    #[default]
    Ordinary,
    /// The shortest there is: it runs little and should run soon, before threads that compute.
    Short,
    /// The longest there is: whoever wakes up on its core runs first.
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    Long,
}

/// Sets the slice of the thread `tid`; 0 is the caller.
pub fn set_slice(tid: u32, slice: Slice) {
    let ns = match slice {
        Slice::Ordinary => 0,
        Slice::Short => 100_000,
        #[cfg(not(any(heist_loom, heist_shuttle)))]
        Slice::Long => 100_000_000,
    };
    slice::set(tid, ns);
}

/// The calling thread's sleeps end when they should, not up to 50 us later.
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub fn sleep_exactly() {
    slice::set_own_timer_slack(1);
}

#[cfg(not(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri)))))]
mod imp {
    pub fn tid() -> u32 {
        0
    }
    pub fn is_asleep(_: u32) -> bool {
        true
    }
    pub fn cpu_ns(_: u32) -> u64 {
        0
    }
}

/// The kernel's number of the calling thread; 0 where there is none.
pub fn tid() -> u32 {
    imp::tid()
}

/// Whether the thread sleeps in the kernel. Where that cannot be known: yes, so that nobody waits for it.
pub fn is_asleep(tid: u32) -> bool {
    imp::is_asleep(tid)
}

/// The core on which the thread computes, or waits to. Nothing if it sleeps.
#[cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
pub fn computes_on(tid: u32) -> Option<usize> {
    imp::computes_on(tid)
}

/// The CPU time that the thread has used. Where that cannot be known: 0, always.
pub fn cpu_ns(tid: u32) -> u64 {
    imp::cpu_ns(tid)
}

#[cfg(all(test, target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod tests {
    use super::*;

    #[test]
    fn names_with_parentheses_are_read() {
        assert_eq!(imp::parse_state(b"12 (a ) R 3) S 1 2 3"), Some(b'S'));
        assert_eq!(imp::parse_state(b"garbage"), None);
        assert_eq!(imp::parse_state(b"1 (x)"), None);
        assert_eq!(imp::parse_ns(b"1234567890123 5 6\n"), Some(1_234_567_890_123));
        assert_eq!(imp::parse_ns(b"x"), None);
    }

    #[test]
    fn a_running_thread_is_on_a_core() {
        let core = computes_on(tid()).expect("it asks, so it runs");
        assert!(rustix::thread::sched_getaffinity(None).expect("Linux knows").is_set(core));
        let rest = "0 ".repeat(35);
        assert_eq!(imp::parse_core(format!("1 (x) R {rest}7 0 0").as_bytes()), Some(7));
        assert_eq!(imp::parse_core(format!("1 (x) S {rest}7 0 0").as_bytes()), None);
        assert_eq!(imp::parse_core(b"1 (x) R 3"), None);
    }

    #[test]
    fn cpu_time_grows_with_work() {
        let before = cpu_ns(tid());
        let mut x = 1u64;
        while cpu_ns(tid()) == before {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert!(cpu_ns(tid()) > before);
    }

    #[test]
    fn a_running_thread_is_awake_and_a_blocked_one_is_not() {
        assert!(!is_asleep(tid()));
        let (send_tid, receive_tid) = std::sync::mpsc::channel();
        let (send_end, receive_end) = std::sync::mpsc::channel::<()>();
        let t = std::thread::spawn(move || {
            send_tid.send(tid()).unwrap();
            let _ = receive_end.recv();
        });
        let other = receive_tid.recv().unwrap();
        // It goes to sleep in a moment; a wait on that condition, without a bound of our own.
        while !is_asleep(other) {
            std::thread::yield_now();
        }
        drop(send_end);
        t.join().unwrap();
    }
}
