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

    pub const ORDINARY: u32 = libc::SCHED_OTHER as u32;
    pub const PATIENT: u32 = libc::SCHED_BATCH as u32;

    /// Since Linux 6.12 an ordinary thread's `runtime` is its slice; before that it is ignored. `tid` 0 is the caller. Changes
    /// only threads of the policy `from`: every other one has been chosen by the program.
    pub fn set(tid: u32, from: u32, to: u32, ns: u64) -> bool {
        let mut attributes = Attributes::default();
        let size = size_of::<Attributes>();
        // SAFETY: the kernel writes at most `size` bytes to where the pointer says.
        let got = unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut attributes, size, 0) };
        if got != 0 || attributes.policy != from {
            return false;
        }
        attributes.size = size as u32;
        attributes.policy = to;
        attributes.runtime = ns;
        // SAFETY: the kernel reads `size` bytes. A refusal changes nothing.
        unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const attributes, 0) == 0 }
    }

    pub fn set_own_timer_slack(ns: u64) {
        // SAFETY: takes a number.
        let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong, 0, 0, 0) };
    }
}

#[cfg(not(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri)))))]
mod slice {
    pub const ORDINARY: u32 = 0;
    #[cfg_attr(any(heist_loom, heist_shuttle), allow(dead_code))]
    pub const PATIENT: u32 = 1;
    pub fn set(_: u32, _: u32, _: u32, _: u64) -> bool {
        false
    }
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

const SHORT_NS: u64 = 100_000;

/// Sets the slice of the thread `tid`; 0 is the caller.
pub fn set_slice(tid: u32, slice: Slice) {
    let ns = match slice {
        Slice::Ordinary => 0,
        Slice::Short => SHORT_NS,
        #[cfg(not(any(heist_loom, heist_shuttle)))]
        Slice::Long => 100_000_000,
    };
    slice::set(tid, slice::ORDINARY, slice::ORDINARY, ns);
}

/// How the monitor waits for a core when all are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub enum Manner {
    /// As any other thread. Those that it starts take after it.
    Ordinary,
    /// Interrupts whoever runs.
    Prompt,
    /// Until somebody else sleeps, or has had his slice.
    Patient,
}

/// The calling thread's manner.
#[cfg(not(any(heist_loom, heist_shuttle)))]
pub struct Manners(Manner);

#[cfg(not(any(heist_loom, heist_shuttle)))]
impl Manners {
    pub fn new() -> Self {
        Self(Manner::Ordinary)
    }

    pub fn set(&mut self, manner: Manner) {
        let policy = |manner| if manner == Manner::Patient { slice::PATIENT } else { slice::ORDINARY };
        let ns = if manner == Manner::Prompt { SHORT_NS } else { 0 };
        if manner != self.0 && slice::set(0, policy(self.0), policy(manner), ns) {
            self.0 = manner;
        }
    }
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
    #[cfg(not(any(heist_loom, heist_shuttle)))]
    pub fn computes_on(_: u32) -> Option<usize> {
        None
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

/// The core on which the thread computes, or waits to. Nothing if it sleeps, or where that cannot be known.
#[cfg(not(any(heist_loom, heist_shuttle)))]
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
    fn manners_change_only_threads_that_the_program_has_left_alone() {
        // SAFETY: asks about the calling thread.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let on_own_thread = |f: fn(&dyn Fn() -> i32)| {
            std::thread::scope(|scope| scope.spawn(|| f(&policy)).join().expect("no panic"));
        };
        on_own_thread(|policy| {
            let before = policy();
            let mut manners = Manners::new();
            manners.set(Manner::Patient);
            assert_eq!(policy(), if before == libc::SCHED_OTHER { libc::SCHED_BATCH } else { before });
            manners.set(Manner::Prompt);
            assert_eq!(policy(), before);
            manners.set(Manner::Patient);
            manners.set(Manner::Ordinary);
            assert_eq!(policy(), before);
        });
        on_own_thread(|policy| {
            let idle = libc::sched_param { sched_priority: 0 };
            // SAFETY: the calling thread, which ends soon.
            assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const idle) }, 0);
            let mut manners = Manners::new();
            for manner in [Manner::Patient, Manner::Prompt, Manner::Ordinary] {
                manners.set(manner);
                assert_eq!(policy(), libc::SCHED_IDLE);
            }
        });
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
