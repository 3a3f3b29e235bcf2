//! Small files of the kernel's.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// What is in a file, if it can be read. The kernel does not say how long such a file is, so it is not asked: half of the calls that the standard
/// library makes.
pub(crate) fn read(path: &Path) -> Option<Vec<u8>> {
    // An interpreter has no such files, and stops a program that asks for one.
    let mut file = if cfg!(miri) { None } else { File::open(path).ok() }?;
    let mut bytes = vec![0; 4096];
    let mut len = 0;
    loop {
        match file.read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
        if len == bytes.len() {
            bytes.resize(2 * len, 0);
        }
    }
    bytes.truncate(len);
    Some(bytes)
}

/// The same as text.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(read(path)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    #[test]
    fn files_of_any_length_are_read() {
        for len in [0, 1, 4095, 4096, 4097, 100_000] {
            let text = "x".repeat(len);
            let tree = Tree::new(&[("file", &text)]);
            assert_eq!(read_text(&tree.path().join("file")), Some(text));
        }
        let tree = Tree::new(&[]);
        assert_eq!(read(&tree.path().join("none")), None);
        assert_eq!(read(tree.path()), None, "a directory");
    }
}
