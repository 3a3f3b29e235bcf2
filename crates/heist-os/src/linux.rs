//! Linux.

use super::{CpuMask, System, ThreadNumber, Usage};
use std::io::Read;

#[derive(Debug)]
pub(super) struct Linux;

impl System for Linux {
    fn thread_number(&self) -> Option<ThreadNumber> {
        // As a call by number: C libraries have had a name for it for a few years only.
        // SAFETY: no arguments, and it does not fail.
        Some(unsafe { libc::syscall(libc::SYS_gettid) } as ThreadNumber)
    }

    fn cpu_ns(&self, thread: ThreadNumber) -> Option<u64> {
        /// The kernel's way to name a thread's clock: the complement of its number, three bits up; 4 for a thread's, 2 for the time
        /// that the scheduler has given it.
        const THREAD_SCHED: libc::clockid_t = 4 | 2;
        let clock = (!(thread as libc::clockid_t) << 3) | THREAD_SCHED;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the kernel writes one `timespec` to where the pointer says.
        let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
        (result == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    fn usage(&self) -> Option<Usage> {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the kernel writes one `rusage` to where the pointer says, if it returns 0.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: it was written.
        let usage = unsafe { usage.assume_init() };
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        let mut text = [0; 96];
        let scheduled =
            std::fs::File::open("/proc/thread-self/schedstat").and_then(|mut file| file.read(&mut text));
        let (cpu_ns, delayed_ns) = scheduled
            .ok()
            .and_then(|length| parse_schedstat(&text[..length]))
            .unwrap_or((ns(usage.ru_utime) + ns(usage.ru_stime), 0));
        Some(Usage { cpu_ns, sleeps: usage.ru_nvcsw as u64, delayed_ns })
    }

    fn stack_end(&self) -> Option<usize> {
        let mut attributes = std::mem::MaybeUninit::uninit();
        // SAFETY: it writes the attributes of the calling thread to where the pointer says, if it returns 0.
        if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) } != 0 {
            return None;
        }
        let (mut end, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the attributes were written; the call writes the two values.
        let result = unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut end, &raw mut size) };
        // SAFETY: the attributes were written, and are not used again.
        unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
        (result == 0).then(|| end.addr())
    }

    fn cpu(&self) -> Option<usize> {
        // No system call: it reads a word that the kernel keeps up to date.
        // SAFETY: no arguments. A failure is -1.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    fn cpu_of_runnable(&self, thread: ThreadNumber) -> Option<usize> {
        let mut line = [0; 512];
        let mut file = std::fs::File::open(format!("/proc/self/task/{thread}/stat")).ok()?;
        let length = file.read(&mut line).ok()?;
        parse_cpu_of_runnable(&line[..length])
    }

    fn sleeps_in(&self, thread: ThreadNumber) -> Option<Box<str>> {
        let name = std::fs::read_to_string(format!("/proc/self/task/{thread}/wchan")).ok()?;
        let is_name = |name: &&str| !name.is_empty() && *name != "0" && name.len() < 100;
        Some(name.trim()).filter(is_name).map(Box::from)
    }

    fn mask(&self, thread: Option<ThreadNumber>) -> Option<CpuMask> {
        let mut set = empty_set();
        // SAFETY: it writes at most as much as a set has room for.
        if unsafe { libc::sched_getaffinity(pid(thread)?, size_of_val(&set), &raw mut set) } != 0 {
            return None;
        }
        // SAFETY: the set has a bit for each of these numbers.
        let in_set = (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) });
        Some(in_set.fold(CpuMask::default(), CpuMask::with))
    }

    fn set_timer_slack(&self, ns: u64) -> bool {
        // SAFETY: it changes a number of the calling thread.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns as libc::c_ulong) == 0 }
    }

    fn set_slice(&self, ns: Option<u64>) -> bool {
        let mut attributes = SchedAttributes::default();
        let size = size_of_val(&attributes);
        // SAFETY: it writes at most as much as there is room for.
        let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
        // Other policies than the usual one mean something else by it, and the program has chosen them.
        if got != 0 || attributes.policy != libc::SCHED_OTHER as u32 {
            return false;
        }
        attributes.size = size as u32;
        attributes.runtime_ns = ns.unwrap_or(0);
        // SAFETY: it reads the attributes. They are the thread's own but for the slice, which kernels before 6.12 ignore.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
    }

    fn has_fine_waits(&self) -> Option<bool> {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let none: *const libc::c_void = std::ptr::null();
        // SAFETY: there is no such descriptor, so it writes nothing; and there is room for one event.
        let result =
            unsafe { libc::syscall(libc::SYS_epoll_pwait2, -1, &raw mut event, 1, none, none, 0_usize) };
        // A call that is there has got as far as the descriptor.
        Some(result == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EBADF))
    }

    fn set_mask(&self, thread: Option<ThreadNumber>, mask: &CpuMask) -> bool {
        let Some(pid) = pid(thread) else { return false };
        let mut set = empty_set();
        for cpu in (0..libc::CPU_SETSIZE as usize).filter(|&cpu| mask.has(cpu)) {
            // SAFETY: the set has a bit for each of these numbers.
            unsafe { libc::CPU_SET(cpu, &mut set) };
        }
        // SAFETY: it reads one set.
        unsafe { libc::sched_setaffinity(pid, size_of_val(&set), &raw const set) == 0 }
    }
}

/// The kernel's `struct sched_attr`, as far as every kernel knows it.
#[repr(C)]
#[derive(Default)]
struct SchedAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// How the affinity calls name a thread, the calling one by 0. `None` for a number that no thread has.
fn pid(thread: Option<ThreadNumber>) -> Option<libc::pid_t> {
    match thread {
        None => Some(0),
        Some(number) => libc::pid_t::try_from(number).ok().filter(|&pid| pid > 0),
    }
}

fn empty_set() -> libc::cpu_set_t {
    // SAFETY: all zeroes are the empty set.
    unsafe { std::mem::zeroed() }
}

/// The CPU in a line of `/proc/self/task/N/stat`, if the state there is *running*. The thread's name may hold anything, so the
/// fields are counted from behind its last parenthesis.
fn parse_cpu_of_runnable(line: &[u8]) -> Option<usize> {
    /// Fields from the state to the CPU.
    const FROM_STATE: usize = 36;
    let after = line.iter().rposition(|&b| b == b')')? + 2;
    let mut fields = line.get(after..)?.split(|&b| b == b' ');
    if fields.next()? != b"R" {
        return None;
    }
    std::str::from_utf8(fields.nth(FROM_STATE - 1)?).ok()?.parse().ok()
}

/// The time on a CPU, and the time spent waiting for one.
fn parse_schedstat(text: &[u8]) -> Option<(u64, u64)> {
    let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedulers_numbers_are_the_first_two() {
        assert_eq!(parse_schedstat(b"123 45 6\n"), Some((123, 45)));
        assert_eq!(parse_schedstat(b"123"), None);
        assert_eq!(parse_schedstat(b""), None);
    }

    #[test]
    fn names_with_parentheses_are_read() {
        let fields: String = (1..40).map(|n| format!(" {n}")).collect();
        assert_eq!(parse_cpu_of_runnable(format!("12 (a ) S 3) R{fields}").as_bytes()), Some(36));
        assert_eq!(parse_cpu_of_runnable(format!("12 (a ) R 3) S{fields}").as_bytes()), None);
        assert_eq!(parse_cpu_of_runnable(b"garbage"), None);
        assert_eq!(parse_cpu_of_runnable(b"1 (x)"), None);
        assert_eq!(parse_cpu_of_runnable(b"1 (x) R 2"), None);
    }

    #[test]
    fn cpu_time_grows_with_work_and_stands_still_in_sleep() {
        let me = Linux.thread_number().unwrap();
        let before = Linux.cpu_ns(me).unwrap();
        let mut x = 1u64;
        while Linux.cpu_ns(me).unwrap() < before + 1_000_000 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        let (send_number, receive_number) = std::sync::mpsc::channel();
        let (send_end, receive_end) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            send_number.send(Linux.thread_number().unwrap()).unwrap();
            let _ = receive_end.recv();
        });
        let other = receive_number.recv().unwrap();
        // It goes to sleep in a moment: then two looks in a row agree.
        let mut seen = Linux.cpu_ns(other);
        loop {
            std::thread::yield_now();
            let now = Linux.cpu_ns(other);
            assert!(now.is_some() && now >= seen);
            if now == seen && Linux.cpu_of_runnable(other).is_none() {
                break;
            }
            seen = now;
        }
        drop(send_end);
        thread.join().unwrap();
    }

    #[test]
    fn a_slice_is_asked_for_and_given_back() {
        let runtime_ns = || {
            let mut attributes = SchedAttributes::default();
            let size = size_of_val(&attributes);
            // SAFETY: as in `set_slice`.
            unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
            attributes.runtime_ns
        };
        let before_ns = runtime_ns();
        if !Linux.set_slice(Some(200_000)) {
            return println!("refused here");
        }
        // Kernels before 6.12 take it and do nothing.
        assert!([200_000, before_ns].contains(&runtime_ns()), "{}", runtime_ns());
        assert!(Linux.set_slice(None));
        assert_eq!(runtime_ns(), before_ns);
    }

    #[test]
    fn a_thread_that_has_ended_is_unknown() {
        let number = std::thread::spawn(|| Linux.thread_number().unwrap()).join().unwrap();
        // The kernel takes its number back a moment after `join` has returned.
        while Linux.cpu_ns(number).is_some() {
            std::thread::yield_now();
        }
        assert_eq!(Linux.cpu_of_runnable(number), None);
    }
}
