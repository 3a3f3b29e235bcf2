//! The handler of ticks' reports belongs to the whole process, so each case has one of its own.

#![cfg(feature = "tick")]

use crate::rig::child::{case, child, ends_well};
use crate::rig::watchdog::watch;
use heist::tick;
use std::sync::mpsc::channel;

/// What a handler has captured is dropped when the next one comes, and may set one itself.
#[test]
fn a_handler_goes_outside_of_all_locks() {
    struct Last(std::sync::mpsc::Sender<()>);

    impl Drop for Last {
        fn drop(&mut self) {
            tick::on_report(|_| ());
            self.0.send(()).unwrap();
        }
    }

    if case().is_none() {
        return drop(ends_well(&mut child(module_path!(), "a_handler_goes_outside_of_all_locks", "drop")));
    }
    let _watch = watch!();
    let (send, dropped) = channel();
    let last = Last(send);
    tick::on_report(move |_| _ = &last);
    tick::on_report(|_| ());
    dropped.recv().unwrap();
}
