//! The host of a virtual machine.

use std::io::Read;

/// For how long, in all and in milliseconds, a host has run others while this machine's CPUs wanted to run.
///
/// ```
/// assert!(heist_os::stolen_ms() <= heist_os::stolen_ms());
/// ```
pub fn stolen_ms() -> Option<u64> {
    let mut text = [0; 256];
    let length = std::fs::File::open("/proc/stat").ok()?.read(&mut text).ok()?;
    // SAFETY: it asks for a number.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|&n| n > 0)?;
    Some(parse_stolen(&text[..length])? * 1000 / per_second)
}

/// The eighth number of the first line, after its name.
fn parse_stolen(stat: &[u8]) -> Option<u64> {
    let line = std::str::from_utf8(stat.split(|&b| b == b'\n').next()?).ok()?;
    let mut words = line.split_ascii_whitespace();
    (words.next()? == "cpu").then_some(())?;
    words.nth(7)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_the_eighth_number() {
        assert_eq!(parse_stolen(b"cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1"), Some(88));
        assert_eq!(parse_stolen(b"cpu  1 2 3"), None);
        assert_eq!(parse_stolen(b"intr 1 2 3 4 5 6 7 8"), None);
    }
}
