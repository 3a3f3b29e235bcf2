//! The price of one wake: a futex wake of a thread that has slept for 10 ms.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use super::IDLE;
use crate::race::{Plan, Series};
use crate::report::{Judged, Table};

const ASLEEP: u32 = 0;
const CALLED: u32 = 1;
const ANSWERED: u32 = 2;
const DISMISSED: u32 = 3;

pub fn table(plan: &mut Plan) -> Table {
    let mut price = Series { name: "futex wake, price to the waker".into(), samples_ns: Vec::new() };
    let mut latency = Series { name: "futex wake, until the other runs".into(), samples_ns: Vec::new() };
    let state = AtomicU32::new(ASLEEP);
    let woken_at = Mutex::new(Instant::now());
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            loop {
                // std parks on a futex on Linux.
                thread::park();
                let now = Instant::now();
                match state.load(Ordering::Acquire) {
                    CALLED => {
                        *woken_at.lock().expect("nobody panics with the lock") = now;
                        state.store(ANSWERED, Ordering::Release);
                    }
                    DISMISSED => return,
                    _ => {}
                }
            }
        });
        for _ in 0..plan.rounds(150, 40) {
            thread::sleep(IDLE);
            state.store(CALLED, Ordering::Release);
            let start = Instant::now();
            sleeper.thread().unpark();
            price.samples_ns.push(start.elapsed().as_nanos() as f64);
            while state.load(Ordering::Acquire) != ANSWERED {
                thread::yield_now();
            }
            let woken_at = *woken_at.lock().expect("nobody panics with the lock");
            latency.samples_ns.push(woken_at.duration_since(start).as_nanos() as f64);
        }
        state.store(DISMISSED, Ordering::Release);
        sleeper.thread().unpark();
    });
    Table::new("cold", "one wake after 10 ms of sleep", ("us", 1e3), Judged::Median, &[price, latency])
}
