//! The end of the process, and whether its environment is to be trusted.

/// Calls `hook` when the process ends by returning from `main` or by `exit`, on the thread that does so. False if that was refused.
///
/// ```
/// extern "C" fn nothing() {}
/// let _ = heist_os::at_exit(nothing);
/// ```
pub fn at_exit(hook: extern "C" fn()) -> bool {
    system::at_exit(hook)
}

/// Whether the process has rights that whoever has set its environment may lack, as a set-uid program has. Then it should not write to
/// where a variable says.
///
/// ```
/// assert_ne!(heist_os::is_privileged(), Some(true), "tests have no such rights");
/// ```
pub fn is_privileged() -> Option<bool> {
    system::is_privileged()
}

/// The file that holds the code at `address`, and how far that is from where the file's first byte was mapped.
///
/// ```
/// let found = heist_os::file_of_code(heist_os::is_privileged as *const () as usize);
/// assert!(found.is_none_or(|(file, offset)| file.exists() && offset > 0));
/// ```
pub fn file_of_code(address: usize) -> Option<(std::path::PathBuf, u64)> {
    system::file_of_code(address)
}

#[cfg(all(target_os = "linux", not(any(heist_model, miri))))]
mod system {
    use std::path::PathBuf;

    pub(super) fn at_exit(hook: extern "C" fn()) -> bool {
        // SAFETY: the hook is there as long as the program, and takes no arguments.
        unsafe { libc::atexit(hook) == 0 }
    }

    pub(super) fn is_privileged() -> Option<bool> {
        // SAFETY: it reads what the kernel has written down when the program began.
        Some(unsafe { libc::getauxval(libc::AT_SECURE) } != 0)
    }

    pub(super) fn file_of_code(address: usize) -> Option<(PathBuf, u64)> {
        // Lines such as `55d0c8a00000-55d0c8a21000 r-xp 00001000 08:01 1234   /usr/bin/program`, a file's lines one after the other.
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let mut first = None;
        for line in maps.lines() {
            let mut fields = line.splitn(6, ' ');
            let (from, to) = fields.next()?.split_once('-')?;
            let (from, to) = (usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?);
            let file = fields.last().unwrap_or("").trim_start();
            if first.is_none_or(|(name, _)| name != file) {
                first = Some((file, from));
            }
            if (from..to).contains(&address) {
                let (file, start) = first.filter(|(file, _)| file.starts_with('/'))?;
                return Some((file.into(), (address - start) as u64));
            }
        }
        None
    }
}

#[cfg(not(all(target_os = "linux", not(any(heist_model, miri)))))]
mod system {
    pub(super) fn at_exit(_: extern "C" fn()) -> bool {
        false
    }

    pub(super) fn is_privileged() -> Option<bool> {
        None
    }

    pub(super) fn file_of_code(_: usize) -> Option<(std::path::PathBuf, u64)> {
        None
    }
}
