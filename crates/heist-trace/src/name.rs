//! Names that events refer to by number, because an event has no room for a text.
//!
//! A name is kept from its first use to the end of the process, and there are at most [`MOST`] of them: programs name kinds of things, not
//! things. Threads remember which numbers they have asked for, so that asking again takes no lock.

use heist_sync::process::{Origin, PerProcess};
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

/// How many names there may be. Whatever is named after that is called [`TOO_MANY`].
pub const MOST: usize = 1 << 16;

/// The name of everything beyond the names that are kept.
pub const TOO_MANY: &str = "(one of too many names)";

/// How many names a thread remembers.
const REMEMBERED: usize = 64;

#[derive(Default)]
struct Names {
    numbers: HashMap<&'static str, u32>,
    /// By number, from 1 on.
    texts: Vec<&'static str>,
}

static NAMES: PerProcess<Mutex<Option<Names>>> = PerProcess::new(Mutex::new(None), || Mutex::new(None));

fn with_names<R>(f: impl FnOnce(&mut Names) -> R) -> R {
    let mut names = NAMES.get().lock().unwrap_or_else(PoisonError::into_inner);
    f(names.get_or_insert_default())
}

impl Names {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let text = if self.texts.len() + 1 < MOST { text } else { TOO_MANY };
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let text: &'static str = Box::leak(text.into());
        self.texts.push(text);
        let number = self.texts.len() as u32;
        self.numbers.insert(text, number);
        number
    }
}

/// A name that a thread has asked for: where the text was, what it was, and its number.
#[derive(Clone, Copy)]
struct Known {
    address: usize,
    text: &'static str,
    number: u32,
    /// A child of a fork has names of its own.
    origin: Option<Origin>,
}

thread_local! {
    static KNOWN: [Cell<Known>; REMEMBERED] =
        const { [const { Cell::new(Known { address: 0, text: "", number: 0, origin: None }) }; REMEMBERED] };
}

/// The number of what lies at `address`, which is called `text` if this thread has not asked before. `is_still`: whether what it remembers is
/// still there.
fn remembered(address: usize, is_still: impl FnOnce(&str) -> bool, number: impl FnOnce() -> u32) -> u32 {
    // A thread that ends has no memory any more; then the lock does.
    let slot = |known: &[Cell<Known>; REMEMBERED]| known[(address >> 3) % REMEMBERED].get();
    if let Ok(known) = KNOWN.try_with(slot)
        && known.address == address
        && known.origin == Some(Origin::here())
        && is_still(known.text)
    {
        return known.number;
    }
    let number = number();
    let text = self::text(number).unwrap_or_default();
    let known = Known { address, text, number, origin: Some(Origin::here()) };
    let _ = KNOWN.try_with(|all| all[(address >> 3) % REMEMBERED].set(known));
    number
}

/// The number of a name.
///
/// ```
/// let number = heist::trace::name::number("parse");
/// assert_eq!(heist::trace::name::text(number), Some("parse"));
/// assert_eq!(heist::trace::name::number("parse"), number);
/// ```
#[must_use]
pub fn number(text: &str) -> u32 {
    remembered(text.as_ptr().addr(), |known| known == text, || with_names(|names| names.number(text)))
}

/// The number of a place in the program: its name is the file and the line.
///
/// ```
/// let number = heist::trace::name::of_site(std::panic::Location::caller());
/// assert!(heist::trace::name::text(number).unwrap().contains(file!()));
/// ```
#[must_use]
pub fn of_site(site: &'static Location<'static>) -> u32 {
    let text = || format!("{}:{}", site.file(), site.line());
    // What is there for ever is always still there. An address of 0 is nobody's.
    remembered(std::ptr::from_ref(site).addr(), |_| true, || with_names(|names| names.number(&text())))
}

/// The name with this number, if there is one.
///
/// ```
/// assert_eq!(heist::trace::name::text(0), None);
/// ```
#[must_use]
pub fn text(number: u32) -> Option<&'static str> {
    with_names(|names| names.texts.get((number as usize).checked_sub(1)?).copied())
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_wherever_it_lies() {
        let own = String::from("somewhere on the heap");
        let first = number(&own);
        assert_eq!(number("somewhere on the heap"), first);
        assert_eq!(std::thread::spawn(move || number(&own)).join().unwrap(), first);
    }

    #[test]
    fn a_text_that_changes_in_its_place_is_another_name() {
        let mut text = String::from("one");
        let one = number(&text);
        text.replace_range(.., "two");
        let two = number(&text);
        assert_ne!(one, two);
        assert_eq!((super::text(one), super::text(two)), (Some("one"), Some("two")));
        text.truncate(1);
        assert_eq!(super::text(number(&text)), Some("t"));
    }

    #[test]
    fn there_is_an_end_to_names() {
        let mut names = Names::default();
        let numbers: Vec<u32> = (0..MOST + 10).map(|n| names.number(&n.to_string())).collect();
        assert_eq!(names.texts.len(), MOST);
        assert_eq!(numbers[MOST], numbers[MOST + 9]);
        assert_eq!(names.texts[numbers[MOST] as usize - 1], TOO_MANY);
        assert_eq!(names.number("5"), numbers[5], "what has a number keeps it");
    }
}
