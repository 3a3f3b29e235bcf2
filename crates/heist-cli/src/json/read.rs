//! Reads JSON, as far as traces need it: one value at a time, of which only what is asked for is made sense of.

use std::borrow::Cow;
use std::fmt;

/// So deep may values stand in each other: whoever writes more wants to see the stack overflow.
const DEEPEST: usize = 64;

/// A value. What is not there, or is of another kind than was asked for, is like [`Value::Null`].
#[derive(Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`, too.
    Null,
    Bool(bool),
    /// As it is written.
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Value<'a>>),
    /// The names may stand there more than once; the last counts.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// What `text` says, which may have nothing but space around it.
    pub fn read(text: &'a str) -> Result<Self, Error> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        match reader.next() {
            None => Ok(value),
            Some(_) => Err(reader.expected("the end")),
        }
    }

    /// What an object has under this name.
    pub fn get(&self, name: &str) -> &Self {
        match self {
            Self::Object(members) => {
                members.iter().rev().find(|(key, _)| key == name).map_or(&Self::Null, |(_, value)| value)
            }
            _ => &Self::Null,
        }
    }

    /// Of a text.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Of a number that is whole and not negative.
    pub fn as_u64(&self) -> Option<u64> {
        if let Self::Number(digits) = self { digits.parse().ok() } else { None }
    }

    /// Of any number.
    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Number(digits) = self { digits.parse().ok() } else { None }
    }
}

/// What is wrong, and where.
#[derive(Debug)]
pub struct Error {
    expected: &'static str,
    column: usize,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it is no JSON: {} should stand at column {}", self.expected, self.column)
    }
}

impl std::error::Error for Error {}

struct Reader<'a> {
    text: &'a str,
    /// Always the beginning of a character.
    at: usize,
}

impl<'a> Reader<'a> {
    fn expected(&self, expected: &'static str) -> Error {
        Error { expected, column: self.at + 1 }
    }

    /// The next byte that is no space. It is not passed.
    fn next(&mut self) -> Option<u8> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes `byte`, which is no part of a longer character, if it is the next one.
    fn pass(&mut self, byte: u8) -> bool {
        let is_there = self.next() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, Error> {
        if depth > DEEPEST {
            return Err(self.expected("something that is less deep"));
        }
        match self.next() {
            Some(b'{') => {
                let mut members = Vec::new();
                self.each(b'}', "a comma or }", |reader| {
                    if reader.next() != Some(b'"') {
                        return Err(reader.expected("a name"));
                    }
                    let name = reader.string()?;
                    if !reader.pass(b':') {
                        return Err(reader.expected("a colon"));
                    }
                    members.push((name, reader.value(depth + 1)?));
                    Ok(())
                })?;
                Ok(Value::Object(members))
            }
            Some(b'[') => {
                let mut elements = Vec::new();
                self.each(b']', "a comma or ]", |reader| {
                    elements.push(reader.value(depth + 1)?);
                    Ok(())
                })?;
                Ok(Value::List(elements))
            }
            Some(b'"') => self.string().map(Value::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                let words =
                    [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
                for (word, value) in words {
                    if self.text[self.at..].starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.expected("a value"))
            }
        }
    }

    /// From the bracket that is next to the one that closes it.
    fn each(
        &mut self,
        close: u8,
        comma: &'static str,
        mut read: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.at += 1;
        if self.pass(close) {
            return Ok(());
        }
        loop {
            read(self)?;
            if self.pass(close) {
                return Ok(());
            }
            if !self.pass(b',') {
                return Err(self.expected(comma));
            }
        }
    }

    fn number(&mut self) -> Result<Value<'a>, Error> {
        let rest = &self.text[self.at..];
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let digits = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let is_whole = match digits.strip_prefix('-').unwrap_or(digits).as_bytes() {
            [b'0', next, ..] => !next.is_ascii_digit(),
            [first, ..] => first.is_ascii_digit(),
            [] => false,
        };
        let has_fraction = |(_, fraction): (&str, &str)| fraction.starts_with(|c: char| c.is_ascii_digit());
        if !is_whole || !digits.split_once('.').is_none_or(has_fraction) || digits.parse::<f64>().is_err() {
            return Err(self.expected("a number"));
        }
        self.at += digits.len();
        Ok(Value::Number(digits))
    }

    /// From the quotation mark that is next to the one that closes it.
    fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        self.at += 1;
        let mut whole = String::new();
        loop {
            let rest = &self.text[self.at..];
            let part = &rest[..rest.find(['"', '\\']).unwrap_or(rest.len())];
            self.at += part.len();
            match &rest.as_bytes()[part.len()..] {
                [b'"', ..] => {
                    self.at += 1;
                    if whole.is_empty() {
                        return Ok(part.into());
                    }
                    return Ok((whole + part).into());
                }
                [b'\\', escape, ..] => {
                    whole.push_str(part);
                    let meant = match escape {
                        b'"' | b'\\' | b'/' => char::from(*escape),
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => self.escaped()?,
                        _ => return Err(self.expected("another escape")),
                    };
                    whole.push(meant);
                    self.at += if *escape == b'u' { 0 } else { 2 };
                }
                _ => return Err(self.expected("a quotation mark")),
            }
        }
    }

    /// The character that one `\uXXXX` is, or two are.
    fn escaped(&mut self) -> Result<char, Error> {
        let mut halves = vec![self.half()?];
        if matches!(halves[0], 0xd800..0xdc00) && self.text[self.at..].starts_with("\\u") {
            halves.push(self.half()?);
        }
        let whole = String::from_utf16(&halves).ok().and_then(|whole| whole.chars().next());
        whole.ok_or_else(|| self.expected("the other half of a character"))
    }

    fn half(&mut self) -> Result<u16, Error> {
        let digits = self.text.get(self.at + 2..self.at + 6);
        let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| self.expected("an escape with four digits"))?;
        self.at += 6;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name() {
        let value = Value::read(
            r#" {"a": 18446744073709551615, "b": {"c": -1.5e1}, "d": [true, null, []], "e": "x\"\u00e9\ud83d\ude00\n", "f": {}} "#,
        );
        let value = value.unwrap();
        assert_eq!(value.get("a").as_u64(), Some(u64::MAX));
        assert_eq!(value.get("b").get("c").as_f64(), Some(-15.0));
        assert_eq!(value.get("b").get("c").as_u64(), None);
        let list = vec![Value::Bool(true), Value::Null, Value::List(Vec::new())];
        assert_eq!(value.get("d"), &Value::List(list));
        assert_eq!(value.get("e").as_str(), Some("x\"\u{e9}\u{1f600}\n"));
        assert_eq!(value.get("g").get("h"), &Value::Null);
    }

    /// The reader of others says the same about whatever is whole, and about every text that is cut off or has a byte too much.
    #[test]
    fn it_agrees_with_another_reader() {
        let whole = r#"{"name":"a\\b\u000A\/","ts":12.5e-3,"args":{"n":[-0,1,{"x":null}],"ok":false}}"#;
        let cuts = (0..=whole.len()).map(|end| whole[..end].to_string());
        let more = whole.char_indices().flat_map(|(at, _)| {
            ["\"", "\\", "}", "]", ",", ":", "1", "-", "x", " ", "\u{e9}"]
                .map(|more| format!("{}{more}{}", &whole[..at], &whole[at..]))
        });
        let odd = [
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\u12\"",
            "\"\\u+123\"",
            "1.",
            "-.5",
            "01",
            "1e",
            "1e+5",
            "\"\\u\u{e9}\u{e9}\"",
            "nul",
            "--1",
            "",
            "\u{e9}",
        ];
        for text in cuts.chain(more).chain(odd.map(String::from)) {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            match (Value::read(&text), theirs) {
                (Ok(ours), Ok(theirs)) => {
                    assert_eq!(ours.get("name").as_str(), theirs["name"].as_str(), "{text}");
                    assert_eq!(ours.get("ts").as_f64(), theirs["ts"].as_f64(), "{text}");
                }
                (Err(_), Err(_)) => {}
                (ours, theirs) => panic!("{text}: {ours:?}, {theirs:?}"),
            }
        }
    }

    #[test]
    fn what_is_too_deep_is_an_error() {
        let deep = "[".repeat(100_000);
        assert!(Value::read(&deep).unwrap_err().to_string().contains("less deep"));
    }
}
