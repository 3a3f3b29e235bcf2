//! A binary trace of any size is converted in little memory.

#![cfg(target_os = "linux")]

use crate::rig::scale::scaled;
use crate::rig::watchdog::watch;
use heist::trace::{Event, Kind, Trace};
use std::io::{self, Read, Write};

/// The bytes of a file that is never there as a whole.
struct Made {
    left: u64,
    next: u64,
    bytes: Vec<u8>,
    at: usize,
    sum: u64,
    is_sealed: bool,
}

impl Made {
    fn new(events: u64) -> Self {
        let mut made = Self {
            left: events,
            next: 0,
            bytes: Vec::new(),
            at: 0,
            sum: 0xcbf2_9ce4_8422_2325,
            is_sealed: false,
        };
        let head = [&b"heisttrc\x02\0"[..], &[0; 4], &[0; 4], &[0; 8], &events.to_le_bytes()].concat();
        made.put(&head);
        made
    }

    fn put(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.sum = (self.sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn put_event(&mut self) {
        let n = self.next;
        // Jobs on four threads, with a steal now and then.
        let kind = match (n / 4) % 4 {
            0 => Kind::Steal,
            1 => Kind::JobStart,
            2 => Kind::Lend,
            _ => Kind::JobEnd,
        };
        let event =
            Event { at_ns: n * 10, kind, thread: (n % 4) as u16, worker: Some(0), arg: (n % 4) as u32 };
        let [first, second] = event.pack();
        self.put(&first.to_le_bytes());
        self.put(&second.to_le_bytes());
        self.next += 1;
        self.left -= 1;
    }
}

impl Read for Made {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
            for _ in 0..self.left.min(4096) {
                self.put_event();
            }
            if self.left == 0 && self.bytes.is_empty() && !self.is_sealed {
                self.is_sealed = true;
                let sum = self.sum;
                self.bytes.extend_from_slice(&sum.to_le_bytes());
            }
        }
        let n = buffer.len().min(self.bytes.len() - self.at);
        buffer[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// Counts what is written.
#[derive(Default)]
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The most memory that the process has used so far, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn millions_of_events_are_converted_in_64_mib() {
    let _watch = watch!();
    // 10 million in an optimised build.
    let events = scaled(10_000_000) as u64;
    let before_kib = peak_kib();
    let mut json = Counted::default();
    Trace::convert_binary(Made::new(events), &mut json).unwrap();
    let grown_kib = peak_kib() - before_kib;
    assert!(json.0 > 50 * events, "{} bytes", json.0);
    assert!(grown_kib <= 64 << 10, "{grown_kib} KiB for {events} events");
}
