//! Models of the task cell for loom, on the code that ships; only pool and arena are replaced. Each says which bug it hunts;
//! `check/planted.sh` plants those bugs and expects these to fail.
//!
//! Run with `RUSTFLAGS="--cfg heist_model --cfg heist_loom" cargo test -p heist-async --release --lib loom`.
//!
//! A model's worker takes what is queued and goes. What is queued later is run at the end, when all other threads have gone: a
//! wake that was lost leaves a task that is never done.

use super::cell::{Raw, Task};
use super::handle::{JoinHandle, release};
use super::home::{Home, Queue};
use super::state::Word;
use super::{arena, waker};
use heist_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use heist_sync::cell::UnsafeCell;
use heist_sync::{Mutex, StdArc as Arc, lock, thread};
use loom::model::Builder;
use std::collections::VecDeque;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};

/// What a model shares. Counters that only the end looks at are std's: they are no part of what is modelled.
struct World {
    queue: Queue,
    /// Set without ordering by who then wakes the task: only the wake carries it (E1).
    flags: [AtomicU32; 2],
    future_drops: std::sync::atomic::AtomicU32,
    output_drops: std::sync::atomic::AtomicU32,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            queue: Queue { tasks: Mutex::new(VecDeque::new()), panics: 0.into() },
            flags: [AtomicU32::new(0), AtomicU32::new(0)],
            future_drops: 0.into(),
            output_drops: 0.into(),
        })
    }

    /// A task that is ready once the first `flags` flags are set, queued.
    fn spawn(self: &Arc<Self>, flags: usize) -> JoinHandle<Output> {
        let future = Probe { world: self.clone(), polls: UnsafeCell::new(0), flags };
        let home = Home::in_queue(&self.queue);
        let task = Task::make(future, (), home, Location::caller(), Word::spawned(true, 0));
        // SAFETY: a new task's.
        unsafe { task.schedule(heist_pool::raw::task::Place::Next) };
        // SAFETY: the handle that the word counts.
        unsafe { JoinHandle::new(task) }
    }

    /// A worker runs what is queued.
    fn work(&self) {
        loop {
            // A statement of its own, so that the lock is not held during the turn.
            let task = lock(&self.queue.tasks).pop_front();
            match task {
                Some(task) => task.run(),
                None => return,
            }
        }
    }

    /// One by value and one by reference: the first changes the word in any case, the second only if it must (E1).
    fn wake(&self, flag: usize, waker: Waker) {
        self.flags[flag].store(1, Ordering::Relaxed);
        if flag == 0 {
            waker.wake();
        } else {
            waker.wake_by_ref();
        }
    }

    /// When all others have gone: everything is run, and everything is gone.
    fn end(self: Arc<Self>, tasks: usize, outputs: u32) {
        self.work();
        assert_eq!(self.future_drops.load(Ordering::Relaxed), tasks as u32, "futures dropped");
        assert_eq!(self.output_drops.load(Ordering::Relaxed), outputs, "outputs dropped");
        assert_eq!(self.queue.panics.load(Ordering::Relaxed), 0);
        assert_eq!(arena::clear(), tasks, "cells given back");
    }
}

struct Probe {
    world: Arc<World>,
    /// loom sees if two polls are not one after the other (E2).
    polls: UnsafeCell<u32>,
    flags: usize,
}

// SAFETY: the cell is used in polls only.
unsafe impl Send for Probe {}

/// The world, which counts it, and a value that loom sees travel (E3).
struct Output(Arc<World>, UnsafeCell<u32>);

// SAFETY: the cell is the owner's.
unsafe impl Send for Output {}

impl Future for Probe {
    type Output = Output;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Output> {
        // SAFETY: one poll at a time; loom checks it.
        self.polls.with_mut(|polls| unsafe { *polls += 1 });
        let flags = &self.world.flags[..self.flags];
        if flags.iter().all(|flag| flag.load(Ordering::Relaxed) == 1) {
            Poll::Ready(Output(self.world.clone(), UnsafeCell::new(7)))
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.polls.with_mut(|_| ());
        self.world.future_drops.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.1.with_mut(|_| ());
        self.0.output_drops.fetch_add(1, Ordering::Relaxed);
    }
}

/// One who awaits.
struct Ear(AtomicBool);

impl Ear {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(false)))
    }

    fn has_heard(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Wake for Ear {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

fn waker_of(handle: &JoinHandle<Output>) -> Waker {
    Waker::clone(&waker::borrowed(handle.task()))
}

fn poll(handle: &mut JoinHandle<Output>, ear: &Arc<Ear>) -> Poll<Result<Output, super::JoinError>> {
    let waker = Waker::from(ear.clone());
    Pin::new(handle).poll(&mut Context::from_waker(&waker))
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.max(Some(3));
    builder.check(model);
}

type Role = Box<dyn FnOnce() + Send>;

/// All but the last in threads of their own. In both orders: loom begins with one schedule, and what it tries next depends on it.
fn together(mut roles: Vec<Role>, reversed: bool) {
    if reversed {
        roles.reverse();
    }
    let last = roles.pop().expect("somebody acts");
    let others: Vec<_> = roles.into_iter().map(|role| thread::spawn(role)).collect();
    last();
    for other in others {
        other.join().unwrap();
    }
}

fn worker(world: &Arc<World>) -> Role {
    let world = world.clone();
    Box::new(move || world.work())
}

/// Hunts: a wake that is lost because the task is being polled; a second wake whose flag the poll misses, because it found the
/// task queued and left no trace (E1); two polls at once.
#[test]
fn two_wakes_against_polls() {
    for reversed in [false, true] {
        check(move || {
            let world = World::new();
            let mut handle = world.spawn(2);
            let wakers = [waker_of(&handle), waker_of(&handle)];
            let mut roles = vec![worker(&world)];
            for (i, waker) in wakers.into_iter().enumerate() {
                let world = world.clone();
                roles.push(Box::new(move || world.wake(i, waker)));
            }
            together(roles, reversed);
            world.work();
            assert!(handle.is_finished(), "a wake was lost");
            hear(handle.try_take().expect("finished"));
            drop(handle);
            world.end(1, 1);
        });
    }
}

/// Hunts: a future that is polled after, or dropped twice by, an abort; an abort or a wake that finds nobody to run the task.
#[test]
fn abort_against_wake_and_poll() {
    for reversed in [false, true] {
        check(move || {
            let world = World::new();
            let mut handle = world.spawn(1);
            let waker = waker_of(&handle);
            let aborter = handle.abort_handle();
            let wake = world.clone();
            let roles: Vec<Role> = vec![
                worker(&world),
                Box::new(move || wake.wake(0, waker)),
                Box::new(move || aborter.abort()),
            ];
            together(roles, reversed);
            world.work();
            let result = handle.try_take().expect("aborted or woken, it has ended");
            let outputs = u32::from(result.is_ok());
            drop((result, handle));
            world.end(1, outputs);
        });
    }
}

/// Hunts: an awaiter that is not told, or told by one who no longer keeps the cell; an output that arrives torn.
#[test]
fn awaiting_against_the_end() {
    for reversed in [false, true] {
        check(move || {
            let world = World::new();
            let mut handle = world.spawn(0);
            let ears = [Ear::new(), Ear::new()];
            let left = Arc::new(std::sync::Mutex::new(None));
            let (listens, leaves) = (ears.clone(), left.clone());
            let awaits: Role = Box::new(move || {
                // The second time with another waker.
                let mut result = poll(&mut handle, &listens[0]);
                if result.is_pending() {
                    result = poll(&mut handle, &listens[1]);
                }
                match result {
                    Poll::Ready(result) => hear(result),
                    Poll::Pending => *leaves.lock().unwrap() = Some(handle),
                }
            });
            together(vec![worker(&world), awaits], reversed);
            world.work();
            if let Some(mut handle) = left.lock().unwrap().take() {
                assert!(ears[1].has_heard(), "the awaiter was not told");
                let Poll::Ready(result) = poll(&mut handle, &ears[1]) else { panic!("told, and not done") };
                hear(result);
            }
            world.end(1, 1);
            // Ours alone, since the role that listened is gone.
            assert!(ears.iter().all(|ear| Arc::strong_count(ear) == 1), "a waker is left");
        });
    }
}

fn hear(result: Result<Output, super::JoinError>) {
    // SAFETY: ours; loom checks it.
    assert_eq!(result.expect("an output").1.with(|value| unsafe { *value }), 7);
}

/// Hunts: an output that is dropped by both or by nobody; an awaiter's waker that is.
#[test]
fn a_handle_goes_against_the_end() {
    for reversed in [false, true] {
        for awaited in [false, true] {
            check(move || {
                let world = World::new();
                let mut handle = world.spawn(0);
                let ear = Ear::new();
                if awaited {
                    assert!(poll(&mut handle, &ear).is_pending());
                }
                together(vec![worker(&world), Box::new(move || drop(handle))], reversed);
                world.end(1, 1);
                // Whoever wakes has let go of the waker, too.
                assert_eq!(Arc::strong_count(&ear), 1);
            });
        }
    }
}

/// Hunts: a task that nobody can wake and nobody awaits, forgotten because each of the last two saw the other.
#[test]
fn the_last_waker_against_the_handle() {
    for reversed in [false, true] {
        for polled in [false, true] {
            check(move || {
                let world = World::new();
                let handle = world.spawn(1);
                let waker = waker_of(&handle);
                if polled {
                    world.work();
                }
                let roles: Vec<Role> =
                    vec![worker(&world), Box::new(move || drop(waker)), Box::new(move || drop(handle))];
                together(roles, reversed);
                world.end(1, 0);
            });
        }
    }
}

/// Hunts: a cell that is given back under a reader's eyes, or by two.
#[test]
fn a_reader_against_the_end() {
    for reversed in [false, true] {
        check(move || {
            let world = World::new();
            let handle = world.spawn(0);
            // As the arena's walk has it: an address, and no right to anything.
            let (address, id) = (handle.task(), handle.id());
            let look: Role = Box::new(move || {
                // SAFETY: under the checkers cells stay until the model ends, and the word may be read at any time (R6).
                let state = unsafe { &(*address.as_ptr()).state };
                if state.pin().is_some() {
                    assert_eq!(address.id(), id);
                    release(address);
                }
            });
            together(vec![worker(&world), Box::new(move || drop(handle)), look], reversed);
            world.end(1, 1);
        });
    }
}

// The models send addresses about.
// SAFETY: who has one counts in the word, or pins the cell first.
unsafe impl Send for Raw {}

/// A waker that a poll lends does not count: `ManuallyDrop` must be what keeps it from being dropped.
#[test]
fn a_lent_waker_does_not_count() {
    check(|| {
        let world = World::new();
        let handle = world.spawn(0);
        let lent: ManuallyDrop<Waker> = waker::borrowed(handle.task());
        assert!(lent.will_wake(&waker_of(&handle)));
        assert_eq!(handle.task().state.load().wakers(), 0);
        world.work();
        drop(handle);
        world.end(1, 1);
    });
}
