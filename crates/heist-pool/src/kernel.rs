//! What the kernel says of a thread, and where it should run. Every question has an answer on every platform; where the kernel
//! has none to give, the answer is the one that costs only speed.

#[cfg(all(target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod imp {
    use std::io::Read;

    pub fn tid() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get() as u32
    }

    /// State letter and CPU time (in ticks) of a thread of this process.
    fn stat(tid: u32) -> Option<(u8, u64)> {
        let mut buffer = [0; 512];
        let mut file = std::fs::File::open(format!("/proc/self/task/{tid}/stat")).ok()?;
        let n = file.read(&mut buffer).ok()?;
        parse(&buffer[..n])
    }

    /// The name may hold anything, so fields are counted from its last parenthesis.
    pub(super) fn parse(line: &[u8]) -> Option<(u8, u64)> {
        let after = line.iter().rposition(|&b| b == b')')? + 2;
        let mut fields = line.get(after..)?.split(|&b| b == b' ');
        let state = *fields.next()?.first()?;
        let number = |field: Option<&[u8]>| std::str::from_utf8(field?).ok()?.parse::<u64>().ok();
        let user = number(fields.nth(10))?;
        let system = number(fields.next())?;
        Some((state, user + system))
    }

    pub fn is_asleep(tid: u32) -> bool {
        // A thread that is gone is not going to run either.
        tid == 0 || stat(tid).is_none_or(|(state, _)| matches!(state, b'S' | b'D' | b'T' | b'Z'))
    }

    pub fn cpu_ticks(tid: u32) -> u64 {
        stat(tid).map_or(0, |(_, ticks)| ticks)
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
    pub fn cpu_ticks(_: u32) -> u64 {
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

/// The CPU time that the thread has used, in the kernel's ticks. Where that cannot be known: 0, always.
pub fn cpu_ticks(tid: u32) -> u64 {
    imp::cpu_ticks(tid)
}

#[cfg(all(test, target_os = "linux", not(any(heist_loom, heist_shuttle, miri))))]
mod tests {
    use super::*;

    #[test]
    fn names_with_parentheses_are_read() {
        let line = b"12 (a ) R 3) S 1 2 3 4 5 6 7 8 9 10 7 5 0 0 20 0 1";
        assert_eq!(imp::parse(line), Some((b'S', 12)));
        assert_eq!(imp::parse(b"garbage"), None);
        assert_eq!(imp::parse(b"1 (x)"), None);
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
