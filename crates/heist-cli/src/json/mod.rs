//! What every JSON output needs, and a reader.

mod read;

pub use read::{Error, Value};
use std::fmt;

/// A text between quotation marks.
pub struct Text<'a>(pub &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

/// What is not known is null.
pub fn or_null(value: Option<impl fmt::Display>) -> String {
    value.map_or("null".into(), |value| value.to_string())
}

/// A list, one line for each element.
pub fn list(elements: impl Iterator<Item = String>) -> String {
    let elements: Vec<String> = elements.map(|element| format!("\n    {element}")).collect();
    if elements.is_empty() { "[]".into() } else { format!("[{}\n  ]", elements.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_one_string() {
        let odd = "a \"b\" \\ c\n\t\u{1}\u{e9}\u{1f600}";
        assert_eq!(serde_json::from_str::<String>(&Text(odd).to_string()).unwrap(), odd);
    }
}
