//! Models of the driver for loom. Each says which bug it hunts; `check/planted.sh` plants those bugs and expects these to fail.
//!
//! Run with `RUSTFLAGS="--cfg heist_model --cfg heist_loom" cargo test -p heist-async --release --lib loom`.
//!
//! Time does not pass in a model: a wait until a tick that the model's timers need is over at once, any other lasts until the
//! bell rings. A wait that nobody ends is a deadlock, which loom reports.

use super::board::Board;
use super::reactor::Reactor;
use super::readiness::{Direction, Facts};
use super::source::Source;
use super::wait::{Bell, NEVER};
use crate::time::{Set, Timers};
use heist_sync::cell::UnsafeCell;
use heist_sync::{Parker, thread};
use loom::model::Builder;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

/// Both orders of starting: loom begins with one schedule and overlooks some pairs of accesses.
fn race(waiter: impl FnOnce() + Send + 'static, other: impl FnOnce() + Send + 'static, waiter_first: bool) {
    let (first, second): (Box<dyn FnOnce()>, Box<dyn FnOnce() + Send>) =
        if waiter_first { (Box::new(waiter), Box::new(other)) } else { (Box::new(other), Box::new(waiter)) };
    let second = thread::spawn(second);
    first();
    second.join().unwrap();
}

fn check(model: impl Fn(bool) + Send + Sync + Copy + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    for waiter_first in [true, false] {
        let mut builder = Builder::new();
        builder.preemption_bound = builder.preemption_bound.max(Some(3));
        let executions = executions.clone();
        builder.check(move || {
            executions.fetch_add(1, Ordering::Relaxed);
            model(waiter_first);
        });
    }
    println!("{} executions", executions.load(Ordering::Relaxed));
}

/// A waker that leaves a token.
struct Unpark(Parker);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn waker() -> (Arc<Unpark>, Waker) {
    let unpark = Arc::new(Unpark(Parker::new()));
    (unpark.clone(), Waker::from(unpark))
}

/// One turn with patience, in which time passes up to `latest` and no further.
fn turn(board: &Board, timers: &Timers, latest: u64) {
    let mut now = 0;
    if let Some((bell, until)) = board.wait.begin(|| board.earliest()) {
        if until <= latest {
            now = until;
        } else {
            park(board, bell);
        }
        board.wait.end();
    }
    timers.fire(board, now);
}

fn park(board: &Board, bell: Bell) {
    match bell {
        Bell::Parker => board.parker.park(),
        Bell::Reactor => reactor(board).park(),
    }
}

fn reactor(board: &Board) -> &Reactor {
    board.reactor.get().expect("every board of a model has one")
}

fn board() -> (Arc<Board>, Arc<Timers>) {
    let board = Board::new(Weak::new(), 1);
    board.reactor.set(std::sync::Arc::default()).unwrap();
    (Arc::new(board), Arc::new(Timers::new(1)))
}

/// A timer is set while a thread goes to sleep: for ever, or because of a timer that is too far away to help.
fn insert_against_a_turn(waiter_first: bool, far: Option<u64>) {
    let (board, timers) = board();
    if let Some(far) = far {
        let set = timers.here(&board).insert_at(far, Waker::noop().clone());
        assert!(matches!(set, Set::Waits(_)));
    }
    let (fired, waker) = waker();
    let (waiter_board, waiter_timers) = (board.clone(), timers.clone());
    race(
        move || {
            while !fired.0.try_take() {
                turn(&waiter_board, &waiter_timers, 5);
            }
        },
        move || {
            let set = timers.here(&board).insert_at(5, waker);
            assert!(matches!(set, Set::Waits(_)));
        },
        waiter_first,
    );
}

/// Bug hunted: the waiter does not see the timer, and whoever sets it does not see the waiter (`driver_begin_no_fence`).
#[test]
fn timer_insert_against_a_turn() {
    check(|first| insert_against_a_turn(first, None));
}

/// Bug hunted: as above, or a comparison with a tick that is not the waiter's any more.
#[test]
fn earlier_timer_against_a_turn_that_has_one() {
    check(|first| insert_against_a_turn(first, Some(100)));
}

/// Bug hunted: the last timer of a closing pool is cancelled, and the thread that waits for it sleeps on.
#[test]
fn cancel_of_the_last_timer_against_the_end_of_a_pool() {
    check(|first| {
        let (board, timers) = board();
        let shard = timers.here(&board);
        let Set::Waits(key) = shard.insert_at(100, Waker::noop().clone()) else { panic!("it is not due") };
        race(
            move || {
                board.note_closing();
                while timers.is_used() {
                    turn(&board, &timers, 5);
                }
            },
            move || shard.remove(key),
            first,
        );
    });
}

/// Bug hunted: a timer whose deadline is moved forward is slept through.
#[test]
fn reset_against_a_turn() {
    check(|first| {
        let (board, timers) = board();
        let (fired, waker) = waker();
        let shard = timers.here(&board);
        let Set::Waits(key) = shard.insert_at(100, waker) else { panic!("100 is not due") };
        let (waiter_board, waiter_timers) = (board.clone(), timers.clone());
        race(
            move || {
                while !fired.0.try_take() {
                    turn(&waiter_board, &waiter_timers, 5);
                }
            },
            move || assert!(shard.reset_at(&key, 5)),
            first,
        );
    });
}

/// Bugs hunted: an interrupt that is lost, or whose news have not arrived.
#[test]
fn interrupt_against_a_turn() {
    check(|first| {
        let (board, timers) = board();
        let news = Arc::new(News(UnsafeCell::new(0)));
        let (waiter_board, seen) = (board.clone(), news.clone());
        race(
            move || {
                turn(&waiter_board, &timers, 0);
                // SAFETY: loom checks it: the one interrupt has ended the one turn.
                assert_eq!(seen.0.with(|p| unsafe { *p }), 7);
            },
            move || {
                // SAFETY: loom checks it.
                news.0.with_mut(|p| unsafe { *p = 7 });
                board.interrupt();
            },
            first,
        );
    });
}

struct News(UnsafeCell<u32>);

// SAFETY: loom checks every access.
unsafe impl Sync for News {}

/// The reactor is opened while a thread goes to sleep on the parker, and then a socket is ready: the event reaches only who
/// waits for the reactor. Bug hunted: the waiter stays on the parker (`driver_no_second_look`).
#[test]
fn reactor_opened_against_a_turn() {
    check(|first| {
        let (board, _) = board();
        let waiter_board = board.clone();
        race(
            move || {
                loop {
                    let wait = waiter_board.wait.begin(|| NEVER);
                    if let Some((bell, _)) = wait {
                        park(&waiter_board, bell);
                        waiter_board.wait.end();
                        if bell == Bell::Reactor {
                            break;
                        }
                    }
                }
            },
            move || {
                if let Some(bell) = board.wait.reactor_opened() {
                    board.ring(bell);
                }
                reactor(&board).wake();
            },
            first,
        );
    });
}

/// An interrupt meets a waiter that is between the two bells. Bug hunted: it rings the one that nobody listens to.
#[test]
fn interrupt_against_the_hand_over() {
    check(|first| {
        let (board, timers) = board();
        let opener = {
            let board = board.clone();
            thread::spawn(move || {
                if let Some(bell) = board.wait.reactor_opened() {
                    board.ring(bell);
                }
            })
        };
        let (waiter_board, told) = (board.clone(), Arc::new(Parker::new()));
        let tell = told.clone();
        race(
            move || {
                while !told.try_take() {
                    turn(&waiter_board, &timers, 0);
                }
            },
            move || {
                tell.unpark();
                board.interrupt();
            },
            first,
        );
        opener.join().unwrap();
    });
}

/// What a future does: try, clear what turned out not to hold, wait.
fn await_readable(source: &Source, unpark: &Unpark, waker: &Waker, stale: bool) {
    let mut cx = Context::from_waker(waker);
    let mut is_stale = stale;
    loop {
        match source.poll_ready(Direction::Read, &mut cx, None) {
            // The operation has found nothing: the facts were older than the event.
            Poll::Ready(seen) if is_stale && seen == super::readiness::Readiness::new(Facts::READABLE) => {
                source.clear(Facts::open_or_ended(Direction::Read), seen);
                is_stale = false;
            }
            Poll::Ready(_) => return,
            Poll::Pending => unpark.0.park(),
        }
    }
}

/// Bug hunted: an event between the look and the registration is lost (`driver_source_one_look`).
#[test]
fn event_against_a_wait() {
    check(|first| {
        let source = Arc::new(Source::new(Facts::NONE));
        let (unpark, waker) = waker();
        let told = source.clone();
        race(
            move || await_readable(&source, &unpark, &waker, false),
            move || told.tell(Facts::READABLE),
            first,
        );
    });
}

/// Bug hunted: a clear wipes out an event that came after the operation.
#[test]
fn event_against_a_clear() {
    check(|first| {
        let source = Arc::new(Source::new(Facts::READABLE));
        let (unpark, waker) = waker();
        let told = source.clone();
        race(
            move || await_readable(&source, &unpark, &waker, true),
            move || told.tell(Facts::READABLE),
            first,
        );
    });
}
