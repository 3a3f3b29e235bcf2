//! heist's own trace file.
//!
//! All numbers are little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 2 | [`VERSION`] |
//! | 4 | number of named threads |
//! | per thread: 2, 4, n | its number, the length of its name in bytes, the name in UTF-8 |
//! | 4 | number of names that events refer to |
//! | per name: 4, 4, n | its number, its length in bytes, the name in UTF-8 |
//! | 8 | lost events |
//! | 8 | number of events |
//! | per event: 16 | its two packed words |
//! | 8 | FNV-1a of everything before |
//!
//! FNV-1a's step is a bijection of its state for each byte, so a change of any single byte is always noticed.

mod error;
mod read;
#[cfg(all(test, not(heist_model)))]
mod tests;
mod write;

pub use error::ReadError;
pub(crate) use read::{read, stream};
pub(crate) use write::write;

const MAGIC: [u8; 8] = *b"heisttrc";
const VERSION: u16 = 2;
const EVENT_BYTES: usize = 16;

/// FNV-1a, 64 bits.
struct Checksum(u64);

impl Checksum {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
