use super::{Checksum, EVENT_BYTES, MAGIC, ReadError, VERSION};
use crate::{Event, Trace};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};

/// Bytes read at a time, whatever a length in the input claims: a damaged length must not become an allocation.
const CHUNK: usize = 4096 * EVENT_BYTES;

/// What stands before the events.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// The names of threads, by number.
    pub threads: BTreeMap<u16, String>,
    /// The names that events refer to, by number.
    pub names: BTreeMap<u32, String>,
    /// How many events are missing.
    pub lost: u64,
}

pub(crate) fn read(r: &mut dyn Read) -> Result<Trace, ReadError> {
    let (mut builder, mut events) = (Trace::builder(), Vec::new());
    let mut head = Head::default();
    stream(r, |found| head = found, |event| events.push(event))?;
    builder = builder.lost(head.lost);
    for (number, name) in head.threads {
        builder = builder.thread(number, name);
    }
    for (number, name) in head.names {
        builder = builder.name(number, name);
    }
    Ok(builder.events(events).finish())
}

/// Passes on what stands before the events, and then each event, in little memory. An error may come after the last of them: what was passed on is
/// then not to be trusted.
pub(crate) fn stream(
    r: &mut dyn Read,
    on_head: impl FnOnce(Head),
    on_event: impl FnMut(Event),
) -> Result<(), ReadError> {
    let mut input = Summed { r, sum: Checksum::new(), length: 0 };
    let mut magic = [0; MAGIC.len()];
    let got = input.fill(&mut magic)?;
    if magic[..got] != MAGIC[..got] || got == 0 {
        return Err(ReadError::NotATrace { found: magic[..got].to_vec() });
    }
    input.all_of("the magic number", got, magic.len())?;
    let version = u16::from_le_bytes(input.array("the format version")?);
    if version != VERSION {
        return Err(ReadError::Version { found: version, supported: VERSION });
    }

    // A damaged file is best described as damaged, so what is wrong inside is told only after the checksum has matched.
    let mut fault = None;
    let threads = read_threads(&mut input, &mut fault)?;
    let names = read_names(&mut input, &mut fault)?;
    let lost = u64::from_le_bytes(input.array("the number of lost events")?);
    on_head(Head { threads, names, lost });
    read_events(&mut input, &mut fault, on_event)?;

    let computed = input.sum.0;
    let stored = u64::from_le_bytes(input.array("the checksum")?);
    if stored != computed {
        return Err(ReadError::Corrupt { stored, computed });
    }
    fault.map_or(Ok(()), Err)
}

fn read_threads(
    input: &mut Summed<'_>,
    fault: &mut Option<ReadError>,
) -> Result<BTreeMap<u16, String>, ReadError> {
    let mut threads = BTreeMap::new();
    for _ in 0..u32::from_le_bytes(input.array("the number of threads")?) {
        let thread = u16::from_le_bytes(input.array("a thread's number")?);
        let name = input.text("the length of a thread's name", "a thread's name")?;
        let Ok(name) = String::from_utf8(name) else {
            fault.get_or_insert(ReadError::ThreadName { thread });
            continue;
        };
        if threads.insert(thread, name).is_some() {
            fault.get_or_insert(ReadError::DuplicateThread { thread });
        }
    }
    Ok(threads)
}

fn read_names(
    input: &mut Summed<'_>,
    fault: &mut Option<ReadError>,
) -> Result<BTreeMap<u32, String>, ReadError> {
    let mut names = BTreeMap::new();
    for _ in 0..u32::from_le_bytes(input.array("the number of names")?) {
        let number = u32::from_le_bytes(input.array("a name's number")?);
        let Ok(name) = String::from_utf8(input.text("the length of a name", "a name")?) else {
            fault.get_or_insert(ReadError::Name { number });
            continue;
        };
        if names.insert(number, name).is_some() {
            fault.get_or_insert(ReadError::DuplicateName { number });
        }
    }
    Ok(names)
}

fn read_events(
    input: &mut Summed<'_>,
    fault: &mut Option<ReadError>,
    mut on_event: impl FnMut(Event),
) -> Result<(), ReadError> {
    let count = u64::from_le_bytes(input.array("the number of events")?);
    let (mut number, mut last_ns) = (0, 0);
    // A product beyond 64 bits is a count that no input can satisfy either.
    input.chunks("an event", count.saturating_mul(EVENT_BYTES as u64), |chunk| {
        for bytes in chunk.chunks_exact(EVENT_BYTES) {
            let word =
                |at: usize| bytes[at..at + 8].iter().rev().fold(0, |word, &b| word << 8 | u64::from(b));
            let [first, second] = [word(0), word(8)];
            match Event::unpack([first, second]) {
                None => {
                    let code = Event::packed_code(first);
                    fault.get_or_insert(ReadError::UnknownKind { event: number, code });
                }
                Some(event) if event.at_ns < last_ns => {
                    fault.get_or_insert(ReadError::OutOfOrder { event: number });
                }
                Some(event) => {
                    last_ns = event.at_ns;
                    on_event(event);
                }
            }
            number += 1;
        }
    })
}

struct Summed<'r> {
    r: &'r mut dyn Read,
    sum: Checksum,
    length: u64,
}

impl Summed<'_> {
    /// Fills `buffer` as far as the input goes, and returns how far that is.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let mut got = 0;
        while got < buffer.len() {
            match self.r.read(&mut buffer[got..]) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::Io(error)),
            }
        }
        self.sum.add(&buffer[..got]);
        self.length += got as u64;
        Ok(got)
    }

    fn all_of(&self, expected: &'static str, got: usize, wanted: usize) -> Result<(), ReadError> {
        if got == wanted { Ok(()) } else { Err(ReadError::Truncated { length: self.length, expected }) }
    }

    fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        let got = self.fill(&mut bytes)?;
        self.all_of(expected, got, N)?;
        Ok(bytes)
    }

    /// The bytes of a text behind its length.
    fn text(&mut self, length: &'static str, expected: &'static str) -> Result<Vec<u8>, ReadError> {
        let length = u32::from_le_bytes(self.array(length)?);
        let mut text = Vec::new();
        self.chunks(expected, u64::from(length), |chunk| text.extend_from_slice(chunk))?;
        Ok(text)
    }

    /// Passes the next `length` bytes to `take`, in chunks that never split an event.
    fn chunks(
        &mut self,
        expected: &'static str,
        length: u64,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), ReadError> {
        let mut left = length;
        let mut buffer = vec![0; left.min(CHUNK as u64) as usize];
        while left > 0 {
            let chunk = &mut buffer[..left.min(CHUNK as u64) as usize];
            let got = self.fill(chunk)?;
            self.all_of(expected, got, chunk.len())?;
            take(chunk);
            left -= got as u64;
        }
        Ok(())
    }
}
