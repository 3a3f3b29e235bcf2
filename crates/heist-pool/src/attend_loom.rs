//! Models of the driver's seat for loom: a thread that goes to sleep in the driver against one that has something for it, and
//! against one that registers the first socket or timer.

use super::{Attendance, Patience};
use crate::driver::Driver;
use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::{Condvar, Mutex, StdArc as Arc, lock, thread};
use loom::model::Builder;
use std::sync::OnceLock;

/// A driver in which nothing ever becomes ready: a turn with patience ends by an interrupt.
struct Quiet {
    interrupted: Mutex<bool>,
    news: Condvar,
}

impl Quiet {
    fn new() -> Arc<Self> {
        Arc::new(Self { interrupted: Mutex::new(false), news: Condvar::new() })
    }
}

impl Driver for Quiet {
    fn turn(&self, patience: Patience) {
        assert_eq!(patience, Patience::Forever);
        let mut interrupted = lock(&self.interrupted);
        while !*interrupted {
            interrupted = self.news.wait(interrupted).unwrap();
        }
        *interrupted = false;
    }

    fn interrupt(&self) {
        *lock(&self.interrupted) = true;
        self.news.notify_one();
    }

    fn is_used(&self) -> bool {
        true
    }
}

/// Bug hunted: the sleeper takes the seat and looks too early, the giver looks at the seat too early, and the sleeper sleeps for
/// ever beside what it was given (E11, `attend_unfenced`).
#[test]
fn a_gift_against_sleeping_in_the_driver() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let slot = OnceLock::new();
        let driver: Arc<dyn Driver> = Quiet::new();
        assert!(slot.set(driver).is_ok());
        let attendance = Arc::new(Attendance { driver: slot, ..Attendance::default() });
        let given = Arc::new(AtomicU32::new(0));
        let sleeper = {
            let (attendance, given) = (attendance.clone(), given.clone());
            thread::spawn(move || {
                while given.load(Ordering::Relaxed) == 0 {
                    let seat = attendance.lie_in(7).expect("nobody else sits");
                    if given.load(Ordering::Relaxed) == 0 {
                        seat.turn(Patience::Forever);
                    }
                }
            })
        };
        given.store(1, Ordering::Release);
        attendance.rouse(7);
        sleeper.join().unwrap();
    });
}
