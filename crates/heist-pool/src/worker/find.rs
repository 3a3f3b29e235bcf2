//! Where a thread looks for work, in the policy's order.

use super::{Local, Worker};
use crate::forks::{Claimed, Look};
use crate::job::JobRef;
use heist_deque::Steal;
use heist_policy::{self as policy, Ladder, Limits, Source, Sources};
use heist_sync::clock::Instant;
use heist_sync::thread;
use heist_trace::Kind;

/// Something to run.
#[must_use]
pub enum Found<'a> {
    /// A queued job.
    Job(JobRef),
    /// The other half of a fork of `victim`'s.
    Fork {
        /// The half.
        job: Claimed<'a>,
        /// Whose it is.
        victim: &'a Worker,
    },
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

impl Local {
    /// Everything but stealing: own queue, injector, broadcasts to the own index.
    pub(super) fn find_near(&self) -> Option<JobRef> {
        let turn = self.turn.get().wrapping_add(1);
        self.turn.set(turn);
        if let Some(job) = self.index.get().and_then(|i| self.pool.broadcasts(i).pop()) {
            return Some(job);
        }
        let mut view = Sources {
            injector: !self.pool.injector().is_empty(),
            own_spawned: !self.spawned.is_empty(),
            steal: false,
        };
        loop {
            match policy::next_source(turn, view) {
                Source::Injector => {
                    if let Some(job) = self.pool.injector().pop() {
                        return Some(job);
                    }
                    view.injector = false;
                }
                Source::Own => {
                    if let Some(job) = self.spawned.pop() {
                        return Some(job);
                    }
                    view.own_spawned = false;
                }
                Source::Steal | Source::Park => return None,
            }
        }
    }

    /// One round over all other threads, from a random one on.
    pub(super) fn steal_round(&self) -> Option<Found<'_>> {
        self.steal_round_noting(&mut Unanswered::default())
    }

    fn steal_round_noting(&self, unanswered: &mut Unanswered) -> Option<Found<'_>> {
        let table = self.pool.table();
        let n = table.len();
        let start = self.random.borrow_mut().below(n);
        for v in policy::victims(n, start, usize::from(self.worker.id)) {
            let Some(victim) = table.get(v) else { continue };
            let found =
                self.steal_fork(victim, unanswered).or_else(|| self.steal_spawned(victim, unanswered));
            if found.is_some() {
                self.trace(Kind::Steal, u32::from(victim.id));
                return found;
            }
            if !victim.has_work() {
                unanswered.forget(victim.id);
            }
        }
        None
    }

    fn steal_fork<'a>(&self, victim: &'a Worker, unanswered: &mut Unanswered) -> Option<Found<'a>> {
        loop {
            match victim.stack.steal() {
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
        if let Some(job) = self.find_near() {
            return Some(Found::Job(job));
        }
        if !self.searching.get() {
            if !self.pool.idle().try_search(self.pool.parallelism()) {
                return None;
            }
            self.searching.set(true);
        }
        let mut rounds = 0;
        let mut unanswered = Unanswered::default();
        let started = Instant::now();
        loop {
            if let Some(found) = self.steal_round_noting(&mut unanswered) {
                return Some(found);
            }
            if let Some(job) = self.find_near() {
                return Some(Found::Job(job));
            }
            if self.is_recalled() {
                return None;
            }
            rounds += 1;
            // An owner that has not answered yet has work for us: it is forced in a moment.
            let spun_ns = if unanswered.0.is_some() { 0 } else { started.elapsed().as_nanos() as u64 };
            match policy::step(rounds, spun_ns, Limits::DEFAULT) {
                Ladder::Searching | Ladder::Sleepy => thread::yield_now(),
                Ladder::Parked => return None,
            }
        }
    }

    /// A searcher has something to do: it stops searching, and if it was the last, another takes its place.
    pub(super) fn end_search(&self) {
        if self.searching.replace(false) {
            let counters = self.pool.idle().end_search();
            let silent = cfg!(heist_planted = "idle_last_searcher_is_silent");
            if !silent && policy::on_found_work(counters.view()) == policy::Wake::One {
                self.pool.wake_one();
            }
        }
    }

    pub(super) fn is_recalled(&self) -> bool {
        self.index.get().is_some_and(|i| self.pool.idle().is_recalled(i))
    }
}
