//! Makes one file of recorded frames that needs no server: one frame of JSON per line on standard input, the page on standard output.
//! `check/browser/record.py` records such frames.

use std::io::{BufRead, Write};

fn main() -> std::io::Result<()> {
    let frames = std::io::stdin().lock().lines().collect::<Result<Vec<_>, _>>()?;
    std::io::stdout().write_all(heist::live::self_contained(frames).as_bytes())
}
