//! The items of a trace file, with the beginnings and ends of slices put together.

use crate::json::{self, Value};
use std::collections::BTreeMap;

/// The kind of what has no length, and is a slice only because an arrow begins there.
const EVENT: &str = "heist";

/// Which thread: its pool's number, and its own there.
pub type Of = (u64, u64);

/// What a thread is inside of, or was.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// "job", "poll", "tick", "span", "wait" or "idle".
    pub kind: String,
    pub name: String,
    pub start_us: f64,
}

/// What an item of the file says.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A slice has begun.
    Began,
    /// The innermost slice has ended.
    Ended(Slice),
    /// A slice of which only the length is known, inside of the innermost.
    Lasted(Slice, f64),
    /// The name of the pool.
    PoolName(String),
    /// The name of the thread.
    ThreadName(String),
    /// So many events of the pool are missing.
    Lost(u64),
    /// The thread has stolen from this one of its pool.
    Steal(u64),
    /// A tick began so late.
    LateUs(u64),
    /// A task was made ready.
    Ready,
    /// A thread was woken.
    Woken,
    /// A point of a graph: its name and value.
    Counted(String, u64),
    /// Anything else that has a time.
    Other,
}

/// An item of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub of: Of,
    /// When, if it has a time.
    pub at_us: Option<f64>,
    pub what: What,
}

/// Reads items, and remembers what each thread is inside of.
#[derive(Default)]
pub struct Items(BTreeMap<Of, Vec<Slice>>);

impl Items {
    /// What stands on a line of the file; `None` for the array's edges, and for what tells nothing.
    pub fn line(&mut self, line: &str) -> Result<Option<Item>, json::Error> {
        let text = line.trim().trim_end_matches(',');
        if matches!(text, "[" | "]" | "") {
            return Ok(None);
        }
        Ok(self.item(&Value::read(text)?))
    }

    /// What a thread is inside of, innermost last.
    pub fn open(&self, of: Of) -> &[Slice] {
        self.0.get(&of).map_or(&[], Vec::as_slice)
    }

    /// The recording is over: the innermost slice of some thread that is inside of one.
    pub fn close(&mut self) -> Option<(Of, Slice)> {
        self.0.iter_mut().find_map(|(&of, open)| open.pop().map(|slice| (of, slice)))
    }

    fn item(&mut self, item: &Value<'_>) -> Option<Item> {
        let text = |key: &str| item.get(key).as_str().unwrap_or("");
        let argument = |key: &str| item.get("args").get(key).as_u64().unwrap_or(0);
        let number = |key: &str| item.get(key).as_u64().unwrap_or(0);
        let (of, phase, name) = ((number("pid"), number("tid")), text("ph"), text("name"));
        if phase == "M" {
            let named = || item.get("args").get("name").as_str().unwrap_or("").to_string();
            let what = match name {
                "process_name" => What::PoolName(named()),
                "thread_name" => What::ThreadName(named()),
                "heist_lost_events" => What::Lost(argument("lost")),
                _ => return None,
            };
            return Some(Item { of, at_us: None, what });
        }
        let at_us = item.get("ts").as_f64().unwrap_or(0.0);
        let slice = || Slice { kind: text("cat").into(), name: name.into(), start_us: at_us };
        let what = match phase {
            "B" => {
                self.0.entry(of).or_default().push(slice());
                match (text("cat"), name) {
                    (EVENT, "wake") => What::Woken,
                    (EVENT, _) => What::Other,
                    _ => What::Began,
                }
            }
            "E" => match self.0.entry(of).or_default().pop() {
                Some(slice) if slice.kind != EVENT => What::Ended(slice),
                _ => What::Other,
            },
            // What was inside of one whose start is unknown has been told.
            "X" if *item.get("args").get("start_unknown") != Value::Bool(true) => {
                What::Lasted(slice(), item.get("dur").as_f64().unwrap_or(0.0))
            }
            "i" if name == "steal" => What::Steal(argument("from")),
            "i" if name == "late" => What::LateUs(argument("us")),
            "s" if text("cat") == "wake" => What::Ready,
            "i" if name == "wake" && argument("woke") != of.1 => What::Woken,
            "C" => What::Counted(name.into(), argument("value")),
            _ => What::Other,
        };
        Some(Item { of, at_us: Some(at_us), what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_put_together_by_thread() {
        let mut items = Items::default();
        let mut what = |line: &str| items.line(line).unwrap().map(|item| item.what);
        assert_eq!(what("["), None);
        assert_eq!(
            what(r#"{"ph":"B","pid":1,"tid":0,"ts":1.5,"cat":"poll","name":"a","args":{}},"#),
            Some(What::Began)
        );
        let begin = r#"{"ph":"B","pid":1,"tid":2,"ts":2.0,"cat":"job","name":"job","args":{}},"#;
        assert_eq!(what(begin), Some(What::Began));
        let poll = Slice { kind: "poll".into(), name: "a".into(), start_us: 1.5 };
        assert_eq!(what(r#"{"ph":"E","pid":1,"tid":0,"ts":3.0},"#), Some(What::Ended(poll)));
        assert_eq!(what(r#"{"ph":"E","pid":1,"tid":0,"ts":4.0},"#), Some(What::Other));
        assert_eq!(items.open((1, 2)).len(), 1);
        assert_eq!(items.close().map(|(of, slice)| (of, slice.kind)), Some(((1, 2), "job".into())));
        assert_eq!(items.close(), None);
    }

    #[test]
    fn a_line_that_is_no_json_is_an_error() {
        assert!(Items::default().line(r#"{"ph":"#).is_err());
    }
}
