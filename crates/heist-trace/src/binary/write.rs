use super::{Checksum, MAGIC, VERSION};
use crate::Trace;
use std::io::{self, BufWriter, Write};

pub(crate) fn write(trace: &Trace, w: &mut dyn Write) -> io::Result<()> {
    let mut out = Summed { w: BufWriter::new(w), sum: Checksum::new() };
    out.put(&MAGIC)?;
    out.put(&VERSION.to_le_bytes())?;
    // Thread numbers are 16 bits, so their count fits.
    out.put(&(trace.threads().count() as u32).to_le_bytes())?;
    for (number, name) in trace.threads() {
        out.put(&number.to_le_bytes())?;
        out.put_text(name)?;
    }
    let names = u32::try_from(trace.names().count());
    out.put(
        &names
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "more names than numbers"))?
            .to_le_bytes(),
    )?;
    for (number, name) in trace.names() {
        out.put(&number.to_le_bytes())?;
        out.put_text(name)?;
    }
    out.put(&trace.lost().to_le_bytes())?;
    out.put(&(trace.events().len() as u64).to_le_bytes())?;
    for event in trace.events() {
        let [first, second] = event.pack();
        out.put(&first.to_le_bytes())?;
        out.put(&second.to_le_bytes())?;
    }
    out.w.write_all(&out.sum.0.to_le_bytes())?;
    out.w.flush()
}

struct Summed<'w> {
    w: BufWriter<&'w mut dyn Write>,
    sum: Checksum,
}

impl Summed<'_> {
    /// A text behind its length.
    fn put_text(&mut self, text: &str) -> io::Result<()> {
        let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "a name is longer than 4 GiB");
        self.put(&u32::try_from(text.len()).map_err(too_long)?.to_le_bytes())?;
        self.put(text.as_bytes())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.add(bytes);
        self.w.write_all(bytes)
    }
}
