use super::*;
use crate::arbitrary::any_trace;
use crate::{Event, Kind, Lost, Trace};
use proptest::prelude::*;

fn bytes_of(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    trace.write_binary(&mut bytes).unwrap();
    bytes
}

fn some_trace() -> Trace {
    let at = |at_ns, kind, arg| Event { at_ns, kind, thread: 1, worker: None, arg };
    Trace::builder()
        .thread(1, "w\u{f6}rker")
        .thread(7, "")
        .name(3, "n\u{e4}me")
        .batch(1, [at(3, Kind::Steal, 7), at(4, Kind::JobStart, 0), at(900, Kind::JobEnd, 0)], Lost(2))
        .finish()
}

/// The same bytes with a checksum that matches them.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - 8);
    let mut sum = Checksum::new();
    sum.add(&bytes);
    bytes.extend(sum.0.to_le_bytes());
    bytes
}

#[test]
fn the_format_does_not_change_unnoticed() {
    let event = Event { at_ns: 1, kind: Kind::Wake, thread: 2, worker: Some(3), arg: 4 };
    let trace = Trace::builder().thread(2, "w").name(9, "ab").events([event]).lost(5).finish();
    let content = b"heisttrc\x02\0\x01\0\0\0\x02\0\x01\0\0\0w\x01\0\0\0\x09\0\0\0\x02\0\0\0ab\x05\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\
        \x45\0\0\0\0\0\0\0\x03\0\x02\0\x04\0\0\0";
    let bytes = bytes_of(&trace);
    assert_eq!(bytes[..bytes.len() - 8], content[..]);
    assert_eq!(bytes, resealed(bytes.clone()));
}

#[test]
fn the_checksum_is_fnv_1a() {
    let mut sum = Checksum::new();
    sum.add(b"foobar");
    assert_eq!(sum.0, 0x8594_4171_f739_67e8);
}

#[test]
fn every_truncation_is_noticed() {
    let bytes = bytes_of(&some_trace());
    for length in 0..bytes.len() {
        match Trace::read_binary(&bytes[..length]) {
            Err(ReadError::NotATrace { found }) => assert!(length == 0 && found.is_empty()),
            Err(ReadError::Truncated { length: said, .. }) => assert_eq!(said, length as u64),
            other => panic!("{length} bytes gave {other:?}"),
        }
    }
}

#[test]
fn every_change_of_a_byte_is_noticed() {
    let bytes = bytes_of(&some_trace());
    for position in 0..bytes.len() {
        for flip in 1..=255 {
            let mut damaged = bytes.clone();
            damaged[position] ^= flip;
            let read = Trace::read_binary(&damaged[..]);
            assert!(read.is_err(), "byte {position} ^ {flip:#x} gave {read:?}");
        }
    }
}

#[test]
fn damage_is_called_damage() {
    let mut bytes = bytes_of(&some_trace());
    let event = bytes.len() - 8 - EVENT_BYTES;
    bytes[event] ^= 0x3f;
    assert!(matches!(Trace::read_binary(&bytes[..]), Err(ReadError::Corrupt { .. })));
}

#[test]
fn faults_under_a_valid_checksum_are_named() {
    let bytes = bytes_of(&some_trace());
    let last = bytes.len() - 8 - EVENT_BYTES;
    let changed = |position: usize, with: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[position..position + with.len()].copy_from_slice(with);
        Trace::read_binary(&resealed(bytes)[..]).unwrap_err()
    };
    assert!(matches!(changed(0, b"{"), ReadError::NotATrace { .. }));
    assert!(matches!(changed(8, &[2, 1]), ReadError::Version { found: 0x102, supported: VERSION }));
    assert!(matches!(changed(last, &[63]), ReadError::UnknownKind { event: 3, code: 63 }));
    assert!(matches!(changed(last, &[2, 0]), ReadError::OutOfOrder { event: 3 }));
    assert!(matches!(changed(20, &[0xff]), ReadError::ThreadName { thread: 1 }));
    assert!(matches!(changed(27, &[1]), ReadError::DuplicateThread { thread: 1 }));
    // Absurd lengths ask for bytes that are not there, not for memory.
    assert!(matches!(changed(10, &[0xff; 4]), ReadError::Truncated { .. }));
    assert!(matches!(changed(16, &[0xff; 4]), ReadError::Truncated { expected: "a thread's name", .. }));
    let count = bytes.len() - 8 - 4 * EVENT_BYTES - 8;
    assert!(matches!(changed(count, &[0xff; 8]), ReadError::Truncated { expected: "an event", .. }));
}

#[test]
fn a_failing_reader_is_not_called_a_bad_trace() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk on fire"))
        }
    }
    let error = Trace::read_binary(Broken).unwrap_err();
    assert_eq!(error.to_string(), "the trace could not be read: disk on fire");
}

#[test]
fn traces_can_be_read_one_after_the_other() {
    let (one, two) = (some_trace(), Trace::default());
    let bytes = [bytes_of(&one), bytes_of(&two)].concat();
    let mut rest = &bytes[..];
    assert_eq!(Trace::read_binary(&mut rest).unwrap(), one);
    assert_eq!(Trace::read_binary(&mut rest).unwrap(), two);
    assert!(rest.is_empty());
}

proptest! {
    #[test]
    fn what_was_written_is_read(trace in any_trace()) {
        prop_assert_eq!(Trace::read_binary(&bytes_of(&trace)[..]).unwrap(), trace);
    }

    #[test]
    fn no_damage_makes_it_panic(
        trace in any_trace(),
        cut: prop::sample::Index,
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=u8::MAX), 1..8),
    ) {
        let original = bytes_of(&trace);
        let mut bytes = original.clone();
        for (position, flip) in flips {
            let position = position.index(bytes.len());
            bytes[position] ^= flip;
        }
        prop_assert!(bytes == original || Trace::read_binary(&bytes[..]).is_err());
        let cut = cut.index(bytes.len());
        prop_assert!(Trace::read_binary(&bytes[..cut]).is_err());
        // With a checksum that matches, what is read must still be a sound trace.
        if let Ok(read) = Trace::read_binary(&resealed(bytes)[..]) {
            prop_assert!(read.events().is_sorted_by_key(|e| e.at_ns));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let headed = [&MAGIC[..], &VERSION.to_le_bytes(), &bytes].concat();
        for input in [bytes, headed] {
            if let Ok(read) = Trace::read_binary(&input[..]) {
                prop_assert!(read.events().is_sorted_by_key(|e| e.at_ns));
            }
        }
    }
}
