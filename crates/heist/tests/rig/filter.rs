//! Makes the kernel refuse system calls, for all threads of this process and for good: for child processes only.

use std::ffi::{c_int, c_long};

#[repr(C)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    k: u32,
}

#[repr(C)]
struct Program {
    len: u16,
    first: *const Instruction,
}

const PR_SET_NO_NEW_PRIVS: c_int = 38;
const SYS_SECCOMP: c_long = 317;
const SECCOMP_SET_MODE_FILTER: c_long = 1;
const SECCOMP_FILTER_FLAG_TSYNC: c_long = 1;
const RET_ERRNO: u32 = 0x0005_0000;
const RET_ALLOW: u32 = 0x7fff_0000;
const LOAD_WORD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

unsafe extern "C" {
    fn prctl(option: c_int, ...) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

const JUMP_IF_SET: u16 = 0x45;
/// Where a filter finds the low half of a call's first argument.
const FIRST_ARGUMENT: u32 = 16;
/// Of clocks of threads and processes that are named by number.
const FOREIGN_CLOCK: u32 = 1 << 31;
const CLOCK_GETTIME: u32 = 228;

fn plain(code: u16, k: u32) -> Instruction {
    Instruction { code, if_true: 0, if_false: 0, k }
}

/// From now on `calls` (numbers of x86-64) fail with `errno`.
pub fn refuse(calls: &[u32], errno: u32) {
    // The number of the call is the first word of what a filter sees.
    let mut code = vec![plain(LOAD_WORD, 0)];
    for (n, &call) in calls.iter().enumerate() {
        let to_refusal = (calls.len() - n) as u8;
        code.push(Instruction { code: JUMP_IF_EQUAL, if_true: to_refusal, if_false: 0, k: call });
    }
    code.push(plain(RETURN, RET_ALLOW));
    code.push(plain(RETURN, RET_ERRNO | errno));
    set(&code);
}

/// From now on nobody can read the CPU clock of another thread.
pub fn refuse_foreign_clocks(errno: u32) {
    set(&[
        plain(LOAD_WORD, 0),
        Instruction { code: JUMP_IF_EQUAL, if_true: 0, if_false: 2, k: CLOCK_GETTIME },
        plain(LOAD_WORD, FIRST_ARGUMENT),
        Instruction { code: JUMP_IF_SET, if_true: 1, if_false: 0, k: FOREIGN_CLOCK },
        plain(RETURN, RET_ALLOW),
        plain(RETURN, RET_ERRNO | errno),
    ]);
}

fn set(code: &[Instruction]) {
    let program = Program { len: code.len() as u16, first: code.as_ptr() };
    // SAFETY: takes numbers.
    assert_eq!(unsafe { prctl(PR_SET_NO_NEW_PRIVS, 1_u64, 0_u64, 0_u64, 0_u64) }, 0);
    // SAFETY: the kernel copies the program, which lives until then.
    let set = unsafe {
        syscall(SYS_SECCOMP, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &raw const program)
    };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}
