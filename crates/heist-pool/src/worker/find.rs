//! Where a thread looks for work, in the policy's order.

use super::{Local, Worker};
use crate::driver::Patience;
use crate::forks::{Care, Claimed, Look};
use crate::job::JobRef;
use crate::place::For;
use crate::task::TaskRef;
use heist_deque::Steal;
use heist_policy::{self as policy, Ladder, Limits, Source, Sources};
use heist_sync::clock::Instant;
use heist_sync::planted::is_planted;
use heist_sync::thread;
use heist_trace::Kind;

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
        victim: &'a Worker,
    },
}

impl Found<'_> {
    fn what(&self) -> For {
        match self {
            Self::Task(_) => For::Task,
            Self::Job(_) | Self::Fork { .. } => For::Job,
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
    /// Only tasks: it has no index.
    Tasks,
}

/// What a searcher remembers from round to round.
#[derive(Default)]
pub(super) struct Memory {
    round: u32,
    unanswered: Unanswered,
    next: NextSeen,
}

/// A victim in the middle of a turn with a task in its next place, and since when it has been seen there.
#[derive(Default)]
struct NextSeen(Option<(u16, u32, Instant)>);

impl NextSeen {
    /// Whether a victim may turn out in a moment not to get to its next task.
    fn is_watched(&self) -> bool {
        self.0.is_some()
    }

    /// True if `victim` does not get to its next task.
    fn is_due(&mut self, victim: &Worker) -> bool {
        let pace = victim.pace();
        match self.0 {
            Some((v, p, since)) if v == victim.id && p == pace => {
                since.elapsed().as_nanos() >= u128::from(policy::tuning::NEXT_STEALABLE_NS)
            }
            _ => {
                self.0 = Some((victim.id, pace, Instant::now()));
                false
            }
        }
    }
}

impl Local {
    /// Everything but stealing: own queues, injector, broadcasts to the own index, sockets and timers.
    pub(super) fn find_near(&self) -> Option<Found<'static>> {
        let turn = self.next_turn();
        if let Some(job) = self.index.get().and_then(|i| self.pool.broadcasts(i).pop()) {
            return Some(Found::Job(job));
        }
        let attend = self.pool.attendance();
        if (turn.is_multiple_of(policy::tuning::DRIVER_EVERY) || attend.is_called())
            && let Some(seat) = attend.pass()
        {
            seat.turn(Patience::None);
        }
        let found = self.look_near(turn, What::All);
        if found.is_some() {
            return found;
        }
        attend.pass()?.turn(Patience::None);
        self.look_near(turn, What::All)
    }

    /// As `find_near`, without tasks.
    pub(super) fn find_job_near(&self) -> Option<JobRef> {
        let turn = self.next_turn();
        if let Some(job) = self.index.get().and_then(|i| self.pool.broadcasts(i).pop()) {
            return Some(job);
        }
        match self.look_near(turn, What::Jobs)? {
            Found::Job(job) => Some(job),
            Found::Task(_) | Found::Fork { .. } => unreachable!("asked for a queued job"),
        }
    }

    /// A task from anywhere, for a thread without an index.
    pub(super) fn find_task(&self) -> Option<Found<'_>> {
        if let Some(found) = self.look_near(self.next_turn(), What::Tasks) {
            return Some(found);
        }
        if let Some(seat) = self.pool.attendance().pass() {
            seat.turn(Patience::None);
        }
        self.look_near(self.next_turn(), What::Tasks).or_else(|| self.steal_round(What::Tasks))
    }

    fn next_turn(&self) -> u32 {
        let turn = self.turn.get().wrapping_add(1);
        self.turn.set(turn);
        turn
    }

    fn look_near(&self, turn: u32, what: What) -> Option<Found<'static>> {
        let (jobs, tasks) = (what != What::Tasks, what != What::Jobs);
        let mut view = Sources {
            injector: jobs && !self.pool.injector().is_empty(),
            injected_tasks: tasks && !self.pool.tasks().is_empty(),
            own_spawned: jobs && !self.spawned.is_empty(),
            own_tasks: tasks && self.has_own_tasks(),
            injected_wait: false,
            steal: false,
        };
        view.injected_wait = self.has_injected_waited(turn, view);
        loop {
            match policy::next_source(turn, view) {
                Source::Injector => {
                    if let Some(job) = self.pool.injector().pop() {
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
                Source::Steal | Source::Park => return None,
            }
        }
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

    /// One round over all other threads, from a random one on.
    pub(super) fn steal_round(&self, what: What) -> Option<Found<'_>> {
        self.steal_round_noting(what, &mut Memory::default())
    }

    fn steal_round_noting(&self, what: What, memory: &mut Memory) -> Option<Found<'_>> {
        let table = self.pool.table();
        let n = table.len();
        let start = self.random.borrow_mut().below(n);
        let care = Care::in_round(memory.round);
        memory.round = memory.round.wrapping_add(1);
        for v in policy::victims(n, start, usize::from(self.worker.id)) {
            let Some(victim) = table.get(v) else { continue };
            let mut found = None;
            if what != What::Tasks {
                found = self
                    .steal_fork(victim, care, &mut memory.unanswered)
                    .or_else(|| self.steal_spawned(victim, &mut memory.unanswered));
                if care == Care::Full && found.is_none() && !victim.has_jobs() {
                    memory.unanswered.forget(victim.id);
                }
            }
            if found.is_none() && what != What::Jobs {
                found = self.steal_task(victim, what, memory);
            }
            if found.is_some() {
                self.trace(Kind::Steal, u32::from(victim.id));
                return found;
            }
        }
        None
    }

    fn steal_task(&self, victim: &Worker, what: What, memory: &mut Memory) -> Option<Found<'static>> {
        if let Some(task) = victim.tasks.steal_into(&self.worker.tasks) {
            return Some(Found::Task(task));
        }
        // Who only runs tasks is there because the others do not get to theirs.
        let due = victim.tasks.has_next() && (what == What::Tasks || memory.next.is_due(victim));
        if due { victim.tasks.steal_next().map(Found::Task) } else { None }
    }

    fn steal_fork<'a>(
        &self,
        victim: &'a Worker,
        care: Care,
        unanswered: &mut Unanswered,
    ) -> Option<Found<'a>> {
        loop {
            match victim.stack.steal(care) {
                Look::Claimed(job) => return Some(Found::Fork { job, victim }),
                Look::Lost => {}
                Look::Asked if unanswered.is_due(victim.id) && victim.stack.force() => {}
                Look::Asked | Look::Nothing => return None,
            }
        }
    }

    fn steal_spawned<'a>(&self, victim: &'a Worker, unanswered: &mut Unanswered) -> Option<Found<'a>> {
        loop {
            match victim.spawned.steal() {
                Steal::Success(job) => return Some(Found::Job(job)),
                Steal::Retry if unanswered.is_due(victim.id) && victim.spawned.force() => {}
                Steal::Retry | Steal::Empty => return None,
            }
        }
    }

    /// Looks everywhere, for a while if this thread may search. `None` when it should sleep.
    pub(super) fn search(&self) -> Option<Found<'_>> {
        if let Some(found) = self.find_near() {
            return Some(found);
        }
        if !self.searching.get() {
            if !self.pool.idle().try_search(self.pool.parallelism()) {
                return None;
            }
            self.searching.set(true);
        }
        let limits = match self.last.get() {
            For::Job => Limits::DEFAULT,
            For::Task => Limits::AFTER_TASKS,
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
            // Nor is a next task that somebody does not get to left behind.
            if memory.next.is_watched()
                && started.elapsed().as_nanos() < 2 * u128::from(policy::tuning::NEXT_STEALABLE_NS)
            {
                thread::yield_now();
                continue;
            }
            match policy::step(rounds, spun_ns, limits) {
                Ladder::Searching | Ladder::Sleepy => thread::yield_now(),
                Ladder::Parked => return None,
            }
        }
    }

    /// A searcher has something to do: it stops searching, and if it was the last, another takes its place.
    pub(super) fn end_search(&self, found: &Found<'_>) {
        if self.searching.replace(false) {
            let counters = self.pool.idle().end_search();
            let silent = is_planted("idle_last_searcher_is_silent");
            if !silent && policy::on_found_work(counters.view()) == policy::Wake::One {
                self.pool.wake_one(found.what());
            }
        }
    }

    pub(super) fn is_recalled(&self) -> bool {
        self.index.get().is_some_and(|i| self.pool.idle().is_recalled(i))
    }
}
