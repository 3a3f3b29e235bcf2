//! Models of the run queue for loom: an owner and one or two thieves, every task taken exactly once.

use super::{RunQueue, SLOTS};
use crate::queues::task::{Header, TaskRef, Vtable};
use heist_sync::{StdArc as Arc, thread};
use loom::model::Builder;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A task that counts its turns.
#[repr(C)]
struct Counted {
    header: Header,
    runs: AtomicUsize,
    /// Written by its maker, read by its runner: loom complains if the queue does not order the two.
    made: loom::cell::UnsafeCell<u32>,
}

static VTABLE: Vtable = Vtable { run, name: |_| 0, ready_ns: |_| None };

unsafe fn run(header: NonNull<Header>) {
    // SAFETY: the header is the first field of a `Counted`, kept by the model.
    let counted = unsafe { header.cast::<Counted>().as_ref() };
    // SAFETY: loom checks it.
    counted.made.with(|made| assert_eq!(unsafe { *made }, 7));
    counted.runs.fetch_add(1, Ordering::Relaxed);
}

fn counted() -> Arc<Counted> {
    Arc::new(Counted {
        header: Header::new(&VTABLE),
        runs: AtomicUsize::new(0),
        made: loom::cell::UnsafeCell::new(0),
    })
}

fn ready(task: &Arc<Counted>) -> TaskRef {
    // SAFETY: not in a queue yet.
    task.made.with_mut(|made| unsafe { *made = 7 });
    // SAFETY: the models keep their tasks to the end, and queue each once.
    unsafe { TaskRef::from_raw(NonNull::from(&task.header)) }
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.max(Some(3));
    builder.check(model);
}

fn run_all(queue: &RunQueue) {
    while let Some(task) = queue.take_lifo().or_else(|| queue.pop()) {
        task.run();
    }
}

fn thief(victim: Arc<RunQueue>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let own = RunQueue::new();
        if let Some(task) = victim.steal_into(&own).or_else(|| victim.steal_lifo()) {
            task.run();
        }
        run_all(&own);
    })
}

fn once(tasks: &[Arc<Counted>]) {
    for task in tasks {
        assert_eq!(task.runs.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn ring_pop_against_a_thief() {
    check(|| {
        let (queue, tasks) = (Arc::new(RunQueue::new()), [counted(), counted(), counted()]);
        let thief = thief(queue.clone());
        for task in &tasks {
            queue.push(ready(task), |_| unreachable!("there is room"));
        }
        run_all(&queue);
        thief.join().unwrap();
        run_all(&queue);
        once(&tasks);
    });
}

#[test]
fn ring_slots_are_used_again_behind_a_thief() {
    check(|| {
        let queue = Arc::new(RunQueue::new());
        let tasks: Vec<_> = (0..SLOTS + 2).map(|_| counted()).collect();
        let mut moved = Vec::new();
        for task in &tasks[..2] {
            queue.push(ready(task), |_| unreachable!("there is room"));
        }
        let thief = thief(queue.clone());
        for task in &tasks[2..] {
            queue.push(ready(task), |old| moved.extend(old));
        }
        moved.into_iter().for_each(TaskRef::run);
        run_all(&queue);
        thief.join().unwrap();
        once(&tasks);
    });
}

#[test]
fn ring_added_at_once_against_a_thief() {
    check(|| {
        let (queue, tasks) = (Arc::new(RunQueue::new()), [counted(), counted(), counted()]);
        let thief = thief(queue.clone());
        queue.push(ready(&tasks[0]), |_| unreachable!("there is room"));
        queue.extend(tasks[1..].iter().map(ready));
        run_all(&queue);
        thief.join().unwrap();
        run_all(&queue);
        once(&tasks);
    });
}

#[test]
fn ring_next_against_a_thief() {
    check(|| {
        let (queue, tasks) = (Arc::new(RunQueue::new()), [counted(), counted()]);
        let thief = thief(queue.clone());
        for task in &tasks {
            if let Some(old) = queue.put_lifo(ready(task)) {
                queue.push(old, |_| unreachable!("there is room"));
            }
        }
        run_all(&queue);
        thief.join().unwrap();
        once(&tasks);
    });
}

#[test]
fn ring_two_thieves() {
    check(|| {
        let (queue, tasks) = (Arc::new(RunQueue::new()), [counted(), counted()]);
        for task in &tasks {
            queue.push(ready(task), |_| unreachable!("there is room"));
        }
        let thieves = [thief(queue.clone()), thief(queue.clone())];
        run_all(&queue);
        for thief in thieves {
            thief.join().unwrap();
        }
        once(&tasks);
    });
}
