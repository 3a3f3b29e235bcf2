//! What other threads may touch of a worker.

use crate::metrics::OwnCounts;
use crate::permits::Permits;
use crate::pool::Pool;
use crate::queues::RunQueue;
use crate::queues::forks::Stack;
use crate::queues::job::JobRef;
use crossbeam_utils::CachePadded;
use heist_deque::{Owner, Thief};
use heist_os::{AffinityHint, ThreadNumber, WokenFor};
use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::{Parker, StdArc as Arc, std_atomic};
use heist_trace::Ring;
use std::panic::Location;
use std::sync::OnceLock;

/// What a thread of the pool is. Published in its `Status`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It holds a permit, or sleeps.
    Holder = 0,
    /// It goes on without a permit after a wait, and would take one.
    Resumed = 1,
    /// It runs tasks without a permit, because all that hold one compute.
    Overtaker = 2,
    /// It runs jobs without a permit, because all that hold one are blocked and the program has asked for rescue.
    Rescuer = 3,
    /// It is a thread of the program's own that works in the pool for a while.
    Guest = 4,
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doing {
    /// It is in heist's own code, and gets to its queues.
    Loop = 0,
    /// It runs a job.
    Job = 1,
    /// It polls a task.
    Poll = 2,
    /// It waits, or is inside of `blocking`, and has lent its permit.
    Wait = 3,
    /// It runs a tick, or what was submitted to one.
    Tick = 4,
}

/// A snapshot of what a thread is and does; a pure value. It holds a count of what has begun and ended, so two looks that find the same
/// status have found the same job or poll. A new role alone does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(u32);

impl Status {
    const DOING: u32 = 7;
    const ROLE: u32 = 3;
    const COUNT: u32 = 6;

    pub const fn doing(self) -> Doing {
        match self.0 & Self::DOING {
            0 => Doing::Loop,
            1 => Doing::Job,
            2 => Doing::Poll,
            3 => Doing::Wait,
            _ => Doing::Tick,
        }
    }

    pub const fn role(self) -> Role {
        match self.0 >> Self::ROLE & 7 {
            0 => Role::Holder,
            1 => Role::Resumed,
            2 => Role::Overtaker,
            3 => Role::Rescuer,
            _ => Role::Guest,
        }
    }

    /// Whether the thread is awake to run tasks without a permit.
    pub fn is_overtaking(self) -> bool {
        self.role() == Role::Overtaker && self.doing() != Doing::Wait
    }

    /// As it is now, one job or poll later.
    const fn next(self, doing: Doing) -> Self {
        Self((self.0 & !Self::DOING).wrapping_add(1 << Self::COUNT) | doing as u32)
    }

    const fn with_role(self, role: Role) -> Self {
        Self(self.0 & !(7 << Self::ROLE) | (role as u32) << Self::ROLE)
    }
}

/// See the module.
pub struct WorkerShared {
    id: u16,
    pub(crate) stack: Stack,
    /// Jobs of scopes and detached ones that its thread has spawned.
    pub(crate) spawned: Thief<JobRef>,
    pub(crate) tasks: RunQueue,
    parker: Arc<Parker>,
    /// What was given to the thread: one more than an index, `TASKS`, `LEAVE`, or 0 for nothing.
    given: AtomicU32,
    /// Written by its thread.
    status: AtomicU32,
    /// The status of a poll or a tick that the monitor has seen at two looks.
    long_poll: AtomicU32,
    /// The index it had last.
    home: AtomicU32,
    /// The kernel's number for the thread, 0 while there is none or it is unknown.
    number: AtomicU32,
    /// One more than the CPU on which it last shared a job, 0 if unknown.
    shared_on: AtomicU32,
    /// One more than the node on which it last looked for work or got a permit, 0 if unknown or if there is only one. No protocol depends on
    /// it, so it is not for the checkers.
    node: std_atomic::AtomicU32,
    /// What its thread counts of itself, on lines that only it writes.
    own: CachePadded<OwnCounts>,
    pub(crate) ring: OnceLock<Ring>,
    pub(crate) affinity: AffinityHint,
}

/// An entry of the pool's table that no thread uses, with what only its thread may have.
pub struct Vacant {
    pub(crate) shared: Arc<WorkerShared>,
    /// The other end of `shared.spawned`.
    pub(super) end: Owner<JobRef>,
}

impl Vacant {
    pub(crate) fn new(id: u16, system: &'static dyn heist_os::System) -> Self {
        let (end, spawned) = heist_deque::deque();
        Self { shared: Arc::new(WorkerShared::new(id, spawned, system)), end }
    }
}

/// What a sleeping thread was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Given {
    /// The permit with this index.
    Permit(u16),
    /// No permit, but tasks to run.
    Tasks,
    /// The pool has no use for the thread any more.
    Leave,
}

const TASKS: u32 = u32::MAX;
const LEAVE: u32 = u32::MAX - 1;

impl WorkerShared {
    fn new(id: u16, spawned: Thief<JobRef>, system: &'static dyn heist_os::System) -> Self {
        Self {
            id,
            stack: Stack::default(),
            spawned,
            tasks: RunQueue::new(),
            parker: Arc::new(Parker::new()),
            given: AtomicU32::new(0),
            status: AtomicU32::new(0),
            long_poll: AtomicU32::new(0),
            home: AtomicU32::new(0),
            number: AtomicU32::new(0),
            shared_on: AtomicU32::new(0),
            node: std_atomic::AtomicU32::new(0),
            own: CachePadded::default(),
            ring: OnceLock::new(),
            affinity: AffinityHint::new(system),
        }
    }

    /// Its number among the pool's threads. Not the index: see there.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// For reports, by its thread: the job that it has just begun was spawned there.
    #[cold]
    pub fn note_site(&self, site: &'static Location<'static>) {
        self.own().serves.set_site(site);
    }

    /// For reports, by its thread: what it blocks on has polled the handle of that task, which has not ended.
    pub fn note_awaits(&self, task: u64) {
        self.own().set_awaits(task);
    }

    /// Where its thread sleeps.
    pub fn parker(&self) -> &Arc<Parker> {
        &self.parker
    }

    /// The kernel's number of its thread.
    pub(crate) fn number(&self) -> Option<ThreadNumber> {
        Some(self.number.load(Ordering::Relaxed)).filter(|&number| number != 0)
    }

    pub(crate) fn set_number(&self, number: Option<ThreadNumber>) {
        self.number.store(number.unwrap_or(0), Ordering::Relaxed);
    }

    /// The index it had last.
    pub(crate) fn home(&self) -> u16 {
        self.home.load(Ordering::Relaxed) as u16
    }

    pub(crate) fn set_home(&self, index: u16) {
        self.home.store(u32::from(index), Ordering::Relaxed);
    }

    /// Where it was lately, if there are several nodes.
    pub(crate) fn node(&self) -> Option<u16> {
        self.node.load(Ordering::Relaxed).checked_sub(1).map(|node| node as u16)
    }

    pub(crate) fn set_node(&self, node: Option<u16>) {
        self.node.store(node.map_or(0, |node| u32::from(node) + 1), Ordering::Relaxed);
    }

    /// Writes down what its thread gets. Under the lock of the permits, so that a thread which learns there that it was woken
    /// finds it; [`wake`](Self::wake) comes after the lock.
    pub(crate) fn give(&self, given: Given) {
        let given = match given {
            Given::Permit(index) => u32::from(index) + 1,
            Given::Tasks => TASKS,
            Given::Leave => LEAVE,
        };
        // ORDERING(PERMIT-E2): release, with the acquire in `take_given`: the ledger's decision. The parker would do, but a thread
        // that has not slept yet looks without it.
        self.given.store(given, Ordering::Release);
    }

    /// Wakes its thread, wherever it sleeps; for a job, away from the caller's CPU if that can be. `permits` are those of its pool.
    pub(crate) fn wake(&self, permits: &Permits, what: WokenFor) {
        if what == WokenFor::Job
            && let Some(number) = self.number()
        {
            self.affinity.before_wake(number);
        }
        permits.note_wake();
        self.parker.unpark();
    }

    pub(crate) fn take_given(&self) -> Option<Given> {
        if self.given.load(Ordering::Relaxed) == 0 {
            return None;
        }
        match self.given.swap(0, Ordering::Acquire) {
            0 => None,
            TASKS => Some(Given::Tasks),
            LEAVE => Some(Given::Leave),
            n => Some(Given::Permit((n - 1) as u16)),
        }
    }

    /// Whether something was given to it.
    pub(crate) fn has_given(&self) -> bool {
        self.given.load(Ordering::Relaxed) != 0
    }

    /// As `take_given`, for a thread that is not parked: only a parked one is given anything but a permit.
    pub(crate) fn take_granted(&self) -> Option<u16> {
        self.take_given().map(|given| match given {
            Given::Permit(index) => index,
            Given::Tasks | Given::Leave => unreachable!("given to a thread that is not parked"),
        })
    }

    /// Sleeps until its thread is granted a permit. The caller has made sure that it will be.
    pub(crate) fn wait_granted(&self) -> u16 {
        loop {
            if let Some(index) = self.take_granted() {
                return index;
            }
            self.parker.park();
        }
    }

    /// What its thread is and does.
    pub(crate) fn status(&self) -> Status {
        Status(self.status.load(Ordering::Relaxed))
    }

    /// Its thread runs a job or a poll. What begins on top of another one changes nothing: the thread does not get to its queues before
    /// the lowest has ended.
    #[inline]
    pub(crate) fn while_doing(&self, doing: Doing, run: impl FnOnce()) {
        let outer = self.status().doing();
        let is_lowest = matches!(outer, Doing::Loop | Doing::Wait);
        if is_lowest {
            self.set_doing(doing);
        }
        run();
        if is_lowest {
            self.set_doing(outer);
        }
    }

    /// Its thread does something else. Returns what it did before.
    #[inline]
    pub(crate) fn set_doing(&self, doing: Doing) -> Doing {
        let status = self.status();
        self.status.store(status.next(doing).0, Ordering::Relaxed);
        status.doing()
    }

    pub(crate) fn set_role(&self, role: Role) {
        self.status.store(self.status().with_role(role).0, Ordering::Relaxed);
    }

    /// The monitor has seen its thread in one poll or tick for too long.
    pub(crate) fn note_long_poll(&self, status: Status) {
        self.long_poll.store(status.0, Ordering::Relaxed);
    }

    /// Whether its thread does not get to its queues for a while, as far as anybody knows: it is in a job, or in a long poll or tick.
    pub(crate) fn computes(&self) -> bool {
        let status = self.status();
        match status.doing() {
            Doing::Job => true,
            Doing::Poll | Doing::Tick => self.long_poll.load(Ordering::Relaxed) == status.0,
            Doing::Loop | Doing::Wait => false,
        }
    }

    /// Whether others may run the ticks of the index that it holds as soon as they are due. One that runs a tick gets to the next, so
    /// those have to be late.
    pub(crate) fn leaves_ticks(&self) -> bool {
        self.status().doing() != Doing::Tick && self.computes()
    }

    /// Where it is when it shares a job.
    pub(crate) fn note_cpu(&self, pool: &Pool) {
        let cpu = pool.system().cpu().map_or(0, |cpu| cpu as u32 + 1);
        self.shared_on.store(cpu, Ordering::Relaxed);
    }

    /// Whether it last shared a job on this CPU.
    pub(crate) fn has_shared_on(&self, cpu: usize) -> bool {
        self.shared_on.load(Ordering::Relaxed) == cpu as u32 + 1
    }

    /// How many jobs and tasks wait in the queues of its thread. Of its forks only whether there are any is known.
    pub(crate) fn queued(&self) -> usize {
        usize::from(self.stack.has_jobs()) + self.spawned.len() + self.queued_tasks()
    }

    /// How many tasks wait in its run queue.
    pub(crate) fn queued_tasks(&self) -> usize {
        self.tasks.len() + usize::from(self.tasks.has_lifo())
    }

    /// What its thread counts of itself. Nobody else writes there.
    #[inline]
    pub(crate) fn own(&self) -> &OwnCounts {
        &self.own
    }

    /// Whether something waits in the queues of its thread, for its thread or for thieves.
    pub fn has_work(&self) -> bool {
        self.has_jobs() || !self.tasks.is_empty()
    }

    pub(crate) fn has_jobs(&self) -> bool {
        self.stack.has_jobs() || !self.spawned.is_empty()
    }

    #[inline]
    pub(crate) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty() || self.tasks.has_lifo()
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_is_and_does_are_apart() {
        let mut status = Status(0);
        for role in [Role::Holder, Role::Resumed, Role::Overtaker, Role::Rescuer, Role::Guest] {
            status = status.with_role(role);
            for doing in [Doing::Loop, Doing::Job, Doing::Poll, Doing::Wait, Doing::Tick] {
                let before = status;
                status = status.next(doing);
                assert_eq!((status.role(), status.doing()), (role, doing));
                assert_ne!(status, before);
            }
        }
        let last = Status(u32::MAX).next(Doing::Job);
        assert_eq!((last.role(), last.doing()), (Role::Guest, Doing::Job));
    }
}
