//! Lists of numbers as Linux writes them: `0-3,8,10-11`.

use std::fmt::Write;

/// No list of CPUs or nodes goes further; one that says so is not understood.
const MOST: usize = 1 << 16;

/// The numbers of a list, in order, each once. An empty list has none; `None` for what is no list.
///
/// ```
/// assert_eq!(heist_os::parse_cpu_list("0-2,8\n"), Some(vec![0, 1, 2, 8]));
/// assert_eq!(heist_os::parse_cpu_list("3-"), None);
/// ```
pub fn parse_cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for part in text.trim().split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (number(first)?, number(last)?);
        if first > last || last >= MOST {
            return None;
        }
        found.extend(first..=last);
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// Digits alone: Rust's own parser takes a sign, too.
fn number(text: &str) -> Option<usize> {
    let text = text.trim();
    if text.bytes().all(|digit| digit.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Writes numbers as such a list.
///
/// ```
/// assert_eq!(heist_os::cpu_list([0, 1, 2, 8]), "0-2,8");
/// ```
pub fn cpu_list(numbers: impl IntoIterator<Item = usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for n in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => ranges.push((n, n)),
        }
    }
    let mut list = String::new();
    for (first, last) in ranges {
        let comma = if list.is_empty() { "" } else { "," };
        let _ = match last - first {
            0 => write!(list, "{comma}{first}"),
            _ => write!(list, "{comma}{first}-{last}"),
        };
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for (text, numbers) in [
            ("", vec![]),
            ("\n", vec![]),
            ("0", vec![0]),
            ("0-1\n", vec![0, 1]),
            ("0-3,8,10-11", vec![0, 1, 2, 3, 8, 10, 11]),
            ("1000-1001", vec![1000, 1001]),
        ] {
            assert_eq!(parse_cpu_list(text), Some(numbers.clone()), "{text:?}");
            assert_eq!(cpu_list(numbers), text.trim());
        }
        assert_eq!(parse_cpu_list("3,1-2, 2"), Some(vec![1, 2, 3]));
    }

    #[test]
    fn what_is_no_list_is_not_understood() {
        for text in [
            "x",
            ",",
            "1,",
            "-",
            "1-",
            "-1",
            "+1",
            "3-2",
            "1-2-3",
            "0-99999999",
            "99999999999999999999",
            "0-7:2/4",
        ] {
            assert_eq!(parse_cpu_list(text), None, "{text:?}");
        }
    }
}
