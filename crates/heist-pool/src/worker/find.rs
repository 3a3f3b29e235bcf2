//! Where a thread looks for work, in the policy's order.

use super::{Status, Worker, WorkerShared};
use crate::driver::Patience;
use crate::permits::Count;
use crate::queues::forks::{Care, Claimed, Look};
use crate::queues::job::JobRef;
use crate::queues::task::TaskRef;
use heist_deque::Steal;
use heist_os::WokenFor;
use heist_policy::{self as policy, Ladder, Limits, Source, Sources};
use heist_sync::clock::Instant;
use heist_sync::planted::is_planted;
use heist_sync::rand::Random;
use heist_sync::thread;
use heist_trace::Kind;
use std::cell::{Cell, RefCell};

/// How a thread looks for work.
pub(super) struct Search {
    /// It is counted as a searcher.
    pub is_on: Cell<bool>,
    /// Counts its looks.
    turn: Cell<u32>,
    random: RefCell<Random>,
    /// Since when it has seen something in the injector and run its own.
    injected_since: Cell<Option<Instant>>,
}

impl Search {
    pub fn new(seed: u64) -> Self {
        Self {
            is_on: Cell::new(false),
            turn: Cell::new(0),
            random: RefCell::new(Random::new(seed)),
            injected_since: Cell::new(None),
        }
    }

    fn next_turn(&self) -> u32 {
        let turn = self.turn.get().wrapping_add(1);
        self.turn.set(turn);
        turn
    }

    /// Whether this thread has left the injector alone for too long, as far as it has looked at the clock.
    fn has_injected_waited(&self, turn: u32, view: Sources) -> bool {
        if !(view.injector || view.injected_tasks) || !(view.own_spawned || view.own_tasks) {
            self.injected_since.set(None);
            return false;
        }
        if !turn.is_multiple_of(policy::tuning::CLOCK_EVERY) {
            return false;
        }
        let Some(since) = self.injected_since.get() else {
            self.injected_since.set(Some(Instant::now()));
            return false;
        };
        let waited = since.elapsed().as_nanos() >= u128::from(policy::tuning::INJECTED_WAIT_NS);
        if waited {
            self.injected_since.set(None);
        }
        waited
    }
}

/// Something to run.
#[must_use]
pub enum Found<'a> {
    /// A queued job.
    Job(JobRef),
    /// A task that is ready.
    Task(TaskRef),
    /// The other half of a fork of `victim`'s.
    Fork {
        /// The half.
        job: Claimed<'a>,
        /// Whose it is.
        victim: &'a WorkerShared,
    },
}

impl Found<'_> {
    fn what(&self) -> WokenFor {
        match self {
            Self::Task(_) => WokenFor::Task,
            Self::Job(_) | Self::Fork { .. } => WokenFor::Job,
        }
    }
}

/// A victim that has jobs and shares none, and since when.
#[derive(Default)]
pub(super) struct Unanswered(Option<(u16, Instant)>);

impl Unanswered {
    /// `victim` has been asked, again. True if it has been silent for so long that it should be forced.
    pub(super) fn is_due(&mut self, victim: u16) -> bool {
        match self.0 {
            None => self.0 = Some((victim, Instant::now())),
            Some((v, since)) if v == victim => {
                let due = since.elapsed().as_nanos() >= u128::from(policy::tuning::FORCE_AFTER_NS);
                if due {
                    self.0 = None;
                }
                return due;
            }
            Some(_) => {}
        }
        false
    }

    /// `victim` has nothing.
    fn forget(&mut self, victim: u16) {
        if self.0.is_some_and(|(v, _)| v == victim) {
            self.0 = None;
        }
    }
}

/// What a thread may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// Only jobs: it stands on somebody's stack.
    Jobs,
    /// Jobs and tasks: it is at the bottom of its own.
    All,
    /// Only tasks: it has no permit.
    Tasks,
}

/// What a searcher remembers from round to round.
#[derive(Default)]
pub(super) struct Memory {
    round: u32,
    unanswered: Unanswered,
    lifo: LifoSeen,
}

/// A victim in the middle of a poll with a task in its LIFO slot, and since when it has been seen there.
#[derive(Default)]
struct LifoSeen(Option<(u16, Status, Instant)>);

impl LifoSeen {
    /// Whether a victim may turn out in a moment not to get to the task in its LIFO slot.
    fn is_watched(&self) -> bool {
        self.0.is_some()
    }

    /// True if `victim` does not get to the task in its LIFO slot.
    fn is_due(&mut self, victim: &WorkerShared) -> bool {
        let status = victim.status();
        match self.0 {
            Some((v, p, since)) if v == victim.id() && p == status => {
                since.elapsed().as_nanos() >= u128::from(policy::tuning::LIFO_STEALABLE_NS)
            }
            _ => {
                self.0 = Some((victim.id(), status, Instant::now()));
                false
            }
        }
    }
}

impl Worker {
    /// Everything but stealing: own queues, injector, broadcasts to the own index, sockets and timers.
    pub(super) fn find_near(&self) -> Option<Found<'static>> {
        let turn = self.search.next_turn();
        if let Some(job) = self.take_broadcast() {
            return Some(Found::Job(job));
        }
        let driver = self.pool.driver();
        if turn.is_multiple_of(policy::tuning::DRIVER_EVERY) || driver.is_called() {
            self.poll_driver();
        }
        let found = self.look_near(turn, What::All);
        if found.is_some() {
            return found;
        }
        if self.poll_driver() { self.look_near(turn, What::All) } else { None }
    }

    /// Looks at sockets and timers, if there is something to look after and nobody else does. Tasks that are woken go to the own
    /// queue.
    fn poll_driver(&self) -> bool {
        let Some(lock) = self.pool.driver().try_poll() else { return false };
        let was_in = self.tasks.is_in_driver.replace(true);
        lock.turn(Patience::None);
        self.tasks.is_in_driver.set(was_in);
        drop(lock);
        self.announce_found();
        true
    }

    /// The driver has put tasks into the own queue. This thread runs the first one; others may help with the rest.
    pub(super) fn announce_found(&self) {
        if self.shared.tasks.len() > 1 {
            self.pool.announce(WokenFor::Task);
        }
    }

    /// A job that only the holder of this thread's permit may run. It tells its index, so that is observed from here on.
    fn take_broadcast(&self) -> Option<JobRef> {
        let queue = self.pool.queues().broadcasts(self.permit.index()?);
        if queue.is_empty() {
            return None;
        }
        // Without the permit there is another queue to look at.
        let index = self.observe_held()?;
        self.pool.queues().broadcasts(index as u16).pop()
    }

    /// As `find_near`, without tasks.
    pub(super) fn find_job_near(&self) -> Option<JobRef> {
        let turn = self.search.next_turn();
        if let Some(job) = self.take_broadcast() {
            return Some(job);
        }
        match self.look_near(turn, What::Jobs)? {
            Found::Job(job) => Some(job),
            Found::Task(_) | Found::Fork { .. } => unreachable!("asked for a queued job"),
        }
    }

    /// A task from anywhere, for a thread without a permit.
    pub(super) fn find_task(&self) -> Option<Found<'_>> {
        if let Some(found) = self.look_near(self.search.next_turn(), What::Tasks) {
            return Some(found);
        }
        self.poll_driver();
        self.look_near(self.search.next_turn(), What::Tasks).or_else(|| self.steal_round(What::Tasks))
    }

    fn look_near(&self, turn: u32, what: What) -> Option<Found<'static>> {
        let (jobs, tasks) = (what != What::Tasks, what != What::Jobs);
        let mut view = Sources {
            injector: jobs && !self.pool.queues().jobs.is_empty(),
            injected_tasks: tasks && !self.pool.queues().tasks.is_empty(),
            own_spawned: jobs && !self.spawned.is_empty(),
            own_tasks: tasks && self.shared.has_tasks(),
            injected_wait: false,
        };
        view.injected_wait = self.search.has_injected_waited(turn, view);
        loop {
            match policy::next_source(turn, view) {
                Source::Injector => {
                    if let Some(job) = self.pool.queues().jobs.pop() {
                        return Some(Found::Job(job));
                    }
                    view.injector = false;
                }
                Source::InjectedTasks => {
                    if let Some(task) = self.take_injected_tasks() {
                        return Some(Found::Task(task));
                    }
                    view.injected_tasks = false;
                }
                Source::Own => {
                    if let Some(job) = self.spawned.pop() {
                        return Some(Found::Job(job));
                    }
                    view.own_spawned = false;
                }
                Source::OwnTask => {
                    if let Some(task) = self.take_own_task() {
                        return Some(Found::Task(task));
                    }
                    view.own_tasks = false;
                }
                Source::Elsewhere => return None,
            }
        }
    }

    /// One round over all other threads, from a random one on.
    pub(super) fn steal_round(&self, what: What) -> Option<Found<'_>> {
        self.steal_round_noting(what, &mut Memory::default())
    }

    fn steal_round_noting(&self, what: What, memory: &mut Memory) -> Option<Found<'_>> {
        let table = self.pool.threads().table();
        let n = table.len();
        let start = self.search.random.borrow_mut().below(n);
        let care = Care::in_round(memory.round);
        memory.round = memory.round.wrapping_add(1);
        for v in policy::victims(n, start, usize::from(self.shared.id())) {
            let Some(victim) = table.get(v) else { continue };
            let mut found = None;
            if what != What::Tasks {
                found = self
                    .steal_fork(victim, care, &mut memory.unanswered)
                    .or_else(|| self.steal_spawned(victim, &mut memory.unanswered));
                if care == Care::Full && found.is_none() && !victim.has_jobs() {
                    memory.unanswered.forget(victim.id());
                }
            }
            if found.is_none() && what != What::Jobs {
                found = self.steal_task(victim, what, memory);
            }
            if found.is_some() {
                self.trace(Kind::Steal, u32::from(victim.id()));
                return found;
            }
        }
        None
    }

    fn steal_task(&self, victim: &WorkerShared, what: What, memory: &mut Memory) -> Option<Found<'static>> {
        if let Some(task) = victim.tasks.steal_into(&self.shared.tasks) {
            return Some(Found::Task(task));
        }
        // Who only runs tasks is there because the others do not get to theirs.
        let due = victim.tasks.has_lifo() && (what == What::Tasks || memory.lifo.is_due(victim));
        if due { victim.tasks.steal_lifo().map(Found::Task) } else { None }
    }

    fn steal_fork<'a>(
        &self,
        victim: &'a WorkerShared,
        care: Care,
        unanswered: &mut Unanswered,
    ) -> Option<Found<'a>> {
        loop {
            match victim.stack.steal(care) {
                Look::Claimed(job) => return Some(Found::Fork { job, victim }),
                Look::Lost => {}
                Look::Asked if unanswered.is_due(victim.id()) && victim.stack.force() => {}
                Look::Asked | Look::Nothing => return None,
            }
        }
    }

    fn steal_spawned<'a>(&self, victim: &'a WorkerShared, unanswered: &mut Unanswered) -> Option<Found<'a>> {
        loop {
            match victim.spawned.steal() {
                Steal::Success(job) => return Some(Found::Job(job)),
                Steal::Retry if unanswered.is_due(victim.id()) && victim.spawned.force() => {}
                Steal::Retry | Steal::Empty => return None,
            }
        }
    }

    /// Looks everywhere, for a while if this thread may search. `None` when it should sleep.
    pub(super) fn search(&self) -> Option<Found<'_>> {
        if let Some(found) = self.find_near() {
            return Some(found);
        }
        if !self.search.is_on.get() {
            if !self.pool.permits().try_search(self.pool.parallelism()) {
                return None;
            }
            self.search.is_on.set(true);
        }
        let limits = match self.last.get() {
            WokenFor::Job => Limits::DEFAULT,
            WokenFor::Task => Limits::AFTER_TASKS,
        };
        let mut rounds = 0;
        let mut memory = Memory::default();
        let started = Instant::now();
        loop {
            if let Some(found) = self.steal_round_noting(What::All, &mut memory) {
                return Some(found);
            }
            if let Some(found) = self.find_near() {
                return Some(found);
            }
            if self.is_recalled() {
                return None;
            }
            rounds += 1;
            // An owner that has not answered yet has work for us: it is forced in a moment.
            let spun_ns = if memory.unanswered.0.is_some() { 0 } else { started.elapsed().as_nanos() as u64 };
            // Nor is a task in a LIFO slot that its owner does not get to left behind.
            if memory.lifo.is_watched()
                && started.elapsed().as_nanos() < 2 * u128::from(policy::tuning::LIFO_STEALABLE_NS)
            {
                thread::yield_now();
                continue;
            }
            match policy::step(rounds, spun_ns, limits) {
                Ladder::Searching => thread::yield_now(),
                Ladder::Parked => return None,
            }
        }
    }

    /// A searcher has something to do: it stops searching, and if it was the last, another takes its place.
    pub(super) fn end_search(&self, found: &Found<'_>) {
        if !self.search.is_on.replace(false) {
            return;
        }
        let counters = self.pool.permits().end_search();
        let silent = is_planted("idle_last_searcher_is_silent");
        if !silent && policy::on_found_work(counters.view()) == policy::Wake::One {
            self.pool.permits().wake_one(&self.pool, found.what());
        } else if counters.get(Count::Free) == 0 {
            // LIVENESS: work that was announced while we searched may be left, and every permit is now in use, perhaps for long.
            self.pool.watched().watch_for(found.what());
        }
    }
}
