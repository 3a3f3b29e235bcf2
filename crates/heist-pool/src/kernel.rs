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
