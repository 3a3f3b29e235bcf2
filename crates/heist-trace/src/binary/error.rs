use std::{fmt, io};

/// Why a binary trace could not be read.
///
/// ```
/// let error = heist::trace::Trace::read_binary(&b"heisttrc\x63\x00"[..]).unwrap_err();
/// assert_eq!(error.to_string(), "the trace has format version 99, and this heist reads version 2 only: use the heist that wrote it");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The input does not begin like a trace.
    #[non_exhaustive]
    NotATrace {
        /// What it begins with.
        found: Vec<u8>,
    },
    /// The trace was written by a heist with another format.
    #[non_exhaustive]
    Version {
        /// The version of the trace.
        found: u16,
        /// The version that can be read.
        supported: u16,
    },
    /// The input ends too early.
    #[non_exhaustive]
    Truncated {
        /// Bytes that could be read.
        length: u64,
        /// What was expected there.
        expected: &'static str,
    },
    /// The content does not match its checksum.
    #[non_exhaustive]
    Corrupt {
        /// The checksum in the file.
        stored: u64,
        /// The checksum of the content.
        computed: u64,
    },
    /// An event of a kind that this heist does not know.
    #[non_exhaustive]
    UnknownKind {
        /// The event's position among the events.
        event: u64,
        /// Its kind's code.
        code: u8,
    },
    /// An event is earlier than the one before it.
    #[non_exhaustive]
    OutOfOrder {
        /// The event's position among the events.
        event: u64,
    },
    /// A thread's name is not UTF-8.
    #[non_exhaustive]
    ThreadName {
        /// The thread's number.
        thread: u16,
    },
    /// A name that events refer to is not UTF-8.
    #[non_exhaustive]
    Name {
        /// The name's number.
        number: u32,
    },
    /// Two names have one number.
    #[non_exhaustive]
    DuplicateName {
        /// The number.
        number: u32,
    },
    /// A thread is named twice.
    #[non_exhaustive]
    DuplicateThread {
        /// The thread's number.
        thread: u16,
    },
    /// The reader failed.
    Io(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotATrace { found } => {
                write!(f, "not a heist trace: it begins with \"{}\"", found.escape_ascii())
            }
            Self::Version { found, supported } => write!(
                f,
                "the trace has format version {found}, and this heist reads version {supported} only: use the heist that wrote it"
            ),
            Self::Truncated { length, expected } => {
                write!(
                    f,
                    "the trace ends after {length} bytes, where {expected} was expected: it was not written to its end"
                )
            }
            Self::Corrupt { stored, computed } => {
                write!(
                    f,
                    "the trace is damaged: its checksum is {stored:#018x}, that of its content {computed:#018x}"
                )
            }
            Self::UnknownKind { event, code } => write!(
                f,
                "event {event} has kind {code}, which this heist does not know: use the heist that wrote the trace"
            ),
            Self::OutOfOrder { event } => write!(f, "event {event} is earlier than the one before it"),
            Self::ThreadName { thread } => write!(f, "the name of thread {thread} is not UTF-8"),
            Self::Name { number } => write!(f, "name {number} is not UTF-8"),
            Self::DuplicateName { number } => write!(f, "name {number} is there twice"),
            Self::DuplicateThread { thread } => write!(f, "thread {thread} is named twice"),
            Self::Io(error) => write!(f, "the trace could not be read: {error}"),
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}
