//! The secret that a page must know.

use std::collections::hash_map::RandomState;
use std::fmt::Write;
use std::hash::BuildHasher;
use std::io::Read;

/// See the module. 128 random bits, as 32 digits.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
        if read.is_err() {
            // The keys of std's hash maps are the system's random numbers, too, and nobody learns them from such hashes.
            for chunk in bytes.chunks_mut(8) {
                chunk.copy_from_slice(&RandomState::new().hash_one(&*chunk).to_ne_bytes());
            }
        }
        let mut text = String::new();
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the one that was given; how long that takes does not depend on where they differ.
    pub fn is(&self, given: &str) -> bool {
        let differs = |(a, b): (u8, u8)| a ^ b;
        given.len() == self.0.len()
            && self.0.bytes().zip(given.bytes()).map(differs).fold(0, |all, d| all | d) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_only_the_same_passes() {
        let (a, b) = (Token::random(), Token::random());
        assert_eq!(a.as_str().len(), 32);
        assert!(a.is(a.as_str()) && !a.is(b.as_str()) && !a.is("") && !a.is(&a.as_str()[1..]));
    }
}
