//! Where a thread looks for work, in the policy's order.

use super::me::Me;
use super::permit::OwnPermit;
use super::shared::Role;
use super::tasks::OwnTasks;
use super::{Status, WorkerShared};
use crate::metrics::WorkerState;
use crate::permits::{Count, Counters};
use crate::places::Places;
use crate::profile::{self, Idle};
use crate::queues::forks::{Care, Claimed, Look};
use crate::queues::job::JobRef;
use crate::queues::task::TaskRef;
use crate::queues::ticks::{Taken, TickRef};
use heist_deque::Steal;
use heist_os::WokenFor;
use heist_policy::{self as policy, Ladder, Limits, Source, Sources, tuning};
use heist_sync::atomic::{Ordering, fence};
use heist_sync::clock::Instant;
use heist_sync::planted::is_planted;
use heist_sync::rand::Random;
use heist_sync::thread;
use heist_trace::Kind;
use std::cell::{Cell, RefCell};

/// Something to run.
#[must_use]
pub enum Found<'a> {
    /// A queued job.
    Job(JobRef),
    /// A task that is ready.
    Task(TaskRef),
    /// A tick that is due.
    Tick(TickRef, Taken<'a>),
    /// The other half of a fork of `victim`'s.
    Fork {
        /// The half.
        job: Claimed<'a>,
        /// Whose it is.
        victim: &'a WorkerShared,
    },
}

impl Found<'_> {
    pub(super) fn what(&self) -> WokenFor {
        match self {
            Self::Task(_) | Self::Tick(..) => WokenFor::Task,
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
        let Some((silent, since)) = self.0 else {
            self.0 = Some((victim, Instant::now()));
            return false;
        };
        let is_due = silent == victim && since.elapsed().as_nanos() >= u128::from(tuning::FORCE_AFTER_NS);
        if is_due {
            self.0 = None;
        }
        is_due
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
    /// A victim in the middle of a poll with a task in its LIFO slot, and since when it has been seen there: it may turn out in a
    /// moment not to get to that task.
    lifo: Option<(u16, Status, Instant)>,
}

// Inlined into the round over the victims, as if that of a machine with one node were the only one.
impl Memory {
    #[inline(always)]
    fn steal_from<'a>(
        &mut self,
        me: &'a Me,
        what: What,
        victims: impl Iterator<Item = usize>,
    ) -> Option<Found<'a>> {
        let table = me.pool.threads().table();
        let care = Care::in_round(self.round);
        self.round = self.round.wrapping_add(1);
        let own = me.shared.own();
        for victim in victims.filter_map(|v| table.get(v)) {
            own.steals_tried.add(1);
            let mut found = if what == What::Tasks { None } else { self.steal_job(victim, care) };
            if found.is_none() && what != What::Jobs {
                found = self.steal_task(me, victim, what);
            }
            if found.is_some() {
                me.trace(Kind::Steal, u32::from(victim.id()));
                own.steals.add(1);
                return found;
            }
        }
        None
    }

    #[inline(always)]
    fn steal_job<'a>(&mut self, victim: &'a WorkerShared, care: Care) -> Option<Found<'a>> {
        loop {
            match victim.stack.steal(care) {
                Look::Claimed(job) => return Some(Found::Fork { job, victim }),
                Look::Lost => {}
                Look::Asked if self.unanswered.is_due(victim.id()) && victim.stack.force() => {}
                Look::Asked | Look::Nothing => break,
            }
        }
        loop {
            match victim.spawned.steal() {
                Steal::Success(job) => return Some(Found::Job(job)),
                Steal::Retry if self.unanswered.is_due(victim.id()) && victim.spawned.force() => {}
                Steal::Retry | Steal::Empty => break,
            }
        }
        let is_silent = self.unanswered.0.is_some_and(|(silent, _)| silent == victim.id());
        if care == Care::Full && is_silent && !victim.has_jobs() {
            self.unanswered.0 = None;
        }
        None
    }

    #[inline(always)]
    fn steal_task(&mut self, me: &Me, victim: &WorkerShared, what: What) -> Option<Found<'static>> {
        let mut task = victim.tasks.steal_into(&me.shared.tasks);
        // Who only runs tasks is there because the others do not get to theirs.
        if task.is_none() && victim.tasks.has_lifo() && (what == What::Tasks || self.is_lifo_due(victim)) {
            task = victim.tasks.steal_lifo();
        }
        task.map(Found::Task)
    }

    /// True if `victim` does not get to the task in its LIFO slot.
    fn is_lifo_due(&mut self, victim: &WorkerShared) -> bool {
        let now = (victim.id(), victim.status());
        match self.lifo {
            Some((id, status, since)) if (id, status) == now => {
                since.elapsed().as_nanos() >= u128::from(tuning::LIFO_STEALABLE_NS)
            }
            _ => {
                self.lifo = Some((now.0, now.1, Instant::now()));
                false
            }
        }
    }
}

/// How a thread looks for work.
pub(super) struct Search {
    /// It is counted as a searcher.
    is_on: Cell<bool>,
    /// Counts its looks.
    turn: Cell<u32>,
    random: RefCell<Random>,
    /// How near the others are, where that matters.
    ranks: RefCell<Vec<u8>>,
    /// Since when it has seen something in the injector and run its own.
    injected_since: Cell<Option<Instant>>,
    /// What it ran last, and whether that was a tick.
    last: Cell<WokenFor>,
    is_after_tick: Cell<bool>,
    /// When it last asked whether it shares a CPU with its victim.
    left_cpu: Cell<Option<Instant>>,
    /// How long ticks have run here, and since when that is counted, in the pool's time.
    tick_ns: Cell<u64>,
    /// When the tick has ended that this thread ran last, until it looks for the next one.
    tick_ended_ns: Cell<Option<u64>>,
    window_ns: Cell<u64>,
}

impl Search {
    pub fn new(seed: u64) -> Self {
        Self {
            is_on: Cell::new(false),
            turn: Cell::new(0),
            random: RefCell::new(Random::new(seed)),
            ranks: RefCell::default(),
            injected_since: Cell::new(None),
            last: Cell::new(WokenFor::Job),
            is_after_tick: Cell::new(false),
            left_cpu: Cell::new(None),
            tick_ns: Cell::new(0),
            tick_ended_ns: Cell::new(None),
            window_ns: Cell::new(0),
        }
    }

    /// Whether this thread counts as a searcher from here on. Returns whether it did.
    pub fn set_on(&self, is_on: bool) -> bool {
        self.is_on.replace(is_on)
    }

    /// Looks everywhere, for a while if this thread may search. What it finds ends the search. `None` when it should sleep.
    #[inline]
    pub fn search<'a>(&self, me: &'a Me, permit: &OwnPermit, tasks: &OwnTasks) -> Option<Found<'a>> {
        let found = match self.find_near(me, permit, tasks) {
            Some(found) => found,
            None => self.search_far(me, permit, tasks)?,
        };
        self.end(me, &found);
        Some(found)
    }

    /// Looks at the other threads' queues as well. Apart, because a thread that has tasks of its own never comes here.
    #[inline(never)]
    fn search_far<'a>(&self, me: &'a Me, permit: &OwnPermit, tasks: &OwnTasks) -> Option<Found<'a>> {
        if !profile::is_on() {
            return self.search_for_a_while(me, permit, tasks);
        }
        let since = Instant::now();
        let found = self.search_for_a_while(me, permit, tasks);
        profile::note_idle(Idle::Searching, since.elapsed().as_nanos() as u64);
        found
    }

    #[inline(always)]
    fn search_for_a_while<'a>(&self, me: &'a Me, permit: &OwnPermit, tasks: &OwnTasks) -> Option<Found<'a>> {
        if !self.is_on.get() {
            // Only a tick could turn up, and for the next of those it sleeps, so that more than one is due when it rises.
            if self.is_after_tick.get() && runs_alone(me, me.permits().counters()) {
                return None;
            }
            if !me.permits().try_search(me.pool.active()) {
                return None;
            }
            self.is_on.set(true);
            me.spend_on(WorkerState::Searching);
        }
        me.trace(Kind::Search, 0);
        let limits = match self.last.get() {
            WokenFor::Job | WokenFor::Call => Limits::DEFAULT,
            WokenFor::Task => Limits::AFTER_TASKS,
        };
        let mut rounds = 0;
        let mut memory = Memory::default();
        let started = Instant::now();
        loop {
            let found = self.steal(me, What::All, &mut memory);
            if let Some(found) = found.or_else(|| self.find_near(me, permit, tasks)) {
                return Some(found);
            }
            if permit.is_recalled(me) {
                return None;
            }
            rounds += 1;
            // An owner that has not answered yet has work for us: it is forced in a moment. Nor is a task in a LIFO slot that its owner
            // does not get to left behind.
            let is_lifo_seen = memory.lifo.is_some()
                && started.elapsed().as_nanos() < 2 * u128::from(tuning::LIFO_STEALABLE_NS);
            let must_go_on = memory.unanswered.0.is_some() || is_lifo_seen;
            let spun_ns = started.elapsed().as_nanos() as u64;
            if !must_go_on && policy::step(rounds, spun_ns, limits) == Ladder::Parked {
                return None;
            }
            thread::yield_now();
        }
    }

    /// What a thread without a permit runs. `None` if it has nothing to do.
    pub fn find_without_permit<'a>(
        &self,
        me: &'a Me,
        permit: &OwnPermit,
        tasks: &OwnTasks,
    ) -> Option<Found<'a>> {
        match permit.role() {
            Role::Overtaker => {
                let is_time = self.turn.get().is_multiple_of(tuning::OVERTAKER_LOOK_EVERY);
                if is_time && !me.permits().computing(&me.pool).any(|computes| computes) {
                    // Those that hold a permit get to their tasks again. With this thread, more would run than there are permits.
                    me.hand_in_tasks();
                    return None;
                }
                let look = || self.look_near(me, tasks, What::Tasks);
                let ticks = me.pool.queues().ticks();
                let tick = || {
                    me.pool
                        .due()
                        .take(&me.pool, None, ticks.now_ns())
                        .map(|(tick, taken)| Found::Tick(tick, taken))
                };
                let tick = if me.pool.driver().has_ticks() { tick() } else { None };
                let found = tick.or_else(look).or_else(|| {
                    tasks.poll_driver(me);
                    look().or_else(|| self.steal(me, What::Tasks, &mut Memory::default()))
                });
                match found {
                    None => me.hand_in_tasks(),
                    // LIVENESS: the monitor may have looked while what was stolen was in no queue, and has forgotten this pool.
                    Some(_) if me.shared.has_tasks() => me.pool.watched().watch(),
                    Some(_) => {}
                }
                found
            }
            Role::Rescuer => {
                me.pool.threads().table().force_all();
                self.find_job_near(me, permit, tasks)
                    .or_else(|| self.steal(me, What::Jobs, &mut Memory::default()))
            }
            Role::Holder | Role::Resumed | Role::Guest => None,
        }
    }

    /// Everything but stealing: ticks, own queues, injector, broadcasts to the own index, sockets and timers.
    #[inline(always)]
    fn find_near<'a>(&self, me: &'a Me, permit: &OwnPermit, tasks: &OwnTasks) -> Option<Found<'a>> {
        if let Some(job) = take_broadcast(me, permit) {
            return Some(Found::Job(job));
        }
        if !me.pool.driver().has_ticks() {
            return self.find_near_but_ticks(me, tasks);
        }
        self.find_near_and_ticks(me, permit, tasks)
    }

    #[inline(never)]
    fn find_near_and_ticks<'a>(&self, me: &'a Me, permit: &OwnPermit, tasks: &OwnTasks) -> Option<Found<'a>> {
        // Ticks that are always due would keep this thread from it.
        if me.pool.driver().is_called() {
            tasks.poll_driver(me);
        }
        // Nothing has happened between the end of a tick and this look.
        let now_ns = self.tick_ended_ns.take().unwrap_or_else(|| me.pool.queues().ticks().now_ns());
        let tick = || {
            me.pool.due().take(&me.pool, permit.index(), now_ns).map(|(tick, taken)| Found::Tick(tick, taken))
        };
        if !self.must_leave_ticks(now_ns) {
            return tick().or_else(|| self.find_near_but_ticks(me, tasks));
        }
        self.find_near_but_ticks(me, tasks).or_else(|| {
            // Nothing else waits, so nothing is owed to it.
            self.tick_ns.set(0);
            tick()
        })
    }

    /// Whether ticks have had so much of this thread's time that jobs and tasks come first.
    fn must_leave_ticks(&self, now_ns: u64) -> bool {
        if self.tick_ns.get() == 0 {
            return false;
        }
        let window_ns = now_ns.saturating_sub(self.window_ns.get());
        let must = policy::tick::ticks_must_yield(self.tick_ns.get(), window_ns);
        if !must && window_ns > tuning::TICK_WINDOW_NS {
            self.tick_ns.set(0);
        }
        must
    }

    /// A tick that was taken at `begun_ns` has run here for this long.
    pub fn note_tick(&self, begun_ns: u64, took_ns: u64) {
        if self.tick_ns.get() == 0 {
            self.window_ns.set(begun_ns);
        }
        self.tick_ns.set(self.tick_ns.get() + took_ns);
        self.tick_ended_ns.set(Some(begun_ns + took_ns));
    }

    #[inline(always)]
    fn find_near_but_ticks(&self, me: &Me, tasks: &OwnTasks) -> Option<Found<'static>> {
        let is_time = self.turn.get().wrapping_add(1).is_multiple_of(tuning::DRIVER_EVERY);
        if is_time || me.pool.driver().is_called() {
            tasks.poll_driver(me);
        }
        let found = self.look_near(me, tasks, What::All);
        if found.is_none() && tasks.poll_driver(me) { self.look_near(me, tasks, What::All) } else { found }
    }

    /// As `find_near`, without tasks.
    pub fn find_job_near(&self, me: &Me, permit: &OwnPermit, tasks: &OwnTasks) -> Option<Found<'static>> {
        let job = take_broadcast(me, permit).map(Found::Job);
        job.or_else(|| self.look_near(me, tasks, What::Jobs))
    }

    #[inline]
    fn look_near(&self, me: &Me, own: &OwnTasks, what: What) -> Option<Found<'static>> {
        let turn = self.turn.get().wrapping_add(1);
        self.turn.set(turn);
        let queues = me.pool.queues();
        let (jobs, tasks) = (what != What::Tasks, what != What::Jobs);
        let mut view = Sources {
            injector: jobs && !queues.jobs.is_empty(),
            injected_tasks: tasks && !queues.tasks.is_empty(),
            own_spawned: jobs && !me.spawned.is_empty(),
            own_tasks: tasks && me.shared.has_tasks(),
            injected_wait: false,
        };
        view.injected_wait = self.has_injected_waited(turn, view);
        loop {
            let (source, found) = match policy::next_source(turn, view) {
                Source::Injector => (&mut view.injector, queues.jobs.pop().map(Found::Job)),
                Source::InjectedTasks => (&mut view.injected_tasks, own.take_injected(me).map(Found::Task)),
                Source::Own => (&mut view.own_spawned, me.spawned.pop().map(Found::Job)),
                Source::OwnTask => (&mut view.own_tasks, own.take(me).map(Found::Task)),
                Source::Elsewhere => return None,
            };
            if found.is_some() {
                return unless_stopped(me, found, what);
            }
            *source = false;
        }
    }

    /// Whether this thread has left the injector alone for too long, as far as it has looked at the clock.
    #[inline]
    fn has_injected_waited(&self, turn: u32, view: Sources) -> bool {
        if !(view.injector || view.injected_tasks) || !(view.own_spawned || view.own_tasks) {
            self.injected_since.set(None);
            return false;
        }
        if !turn.is_multiple_of(tuning::CLOCK_EVERY) {
            return false;
        }
        let Some(since) = self.injected_since.get() else {
            self.injected_since.set(Some(Instant::now()));
            return false;
        };
        let has_waited = since.elapsed().as_nanos() >= u128::from(tuning::INJECTED_WAIT_NS);
        if has_waited {
            self.injected_since.set(None);
        }
        has_waited
    }

    /// One round over all other threads, from a random one on; nearest first where the machine has several nodes.
    pub fn steal<'a>(&self, me: &'a Me, what: What, memory: &mut Memory) -> Option<Found<'a>> {
        let found = match me.pool.places() {
            Some(places) => self.steal_nearest(me, places, what, memory),
            None => {
                let n = me.pool.threads().table().len();
                let start = self.random.borrow_mut().below(n);
                memory.steal_from(me, what, policy::victims(n, start, usize::from(me.id())))
            }
        };
        unless_stopped(me, found, what)
    }

    #[cold]
    fn steal_nearest<'a>(
        &self,
        me: &'a Me,
        places: &Places,
        what: What,
        memory: &mut Memory,
    ) -> Option<Found<'a>> {
        let here = places.here();
        me.shared.set_node(here);
        // As they are now: each is visited once, also if it goes elsewhere meanwhile.
        let mut ranks = self.ranks.borrow_mut();
        places.ranks(here, me.pool.threads().table(), &mut ranks);
        let start = self.random.borrow_mut().below(u32::MAX as usize);
        memory.steal_from(me, what, policy::victims_by_node(&ranks, start, usize::from(me.id())))
    }

    /// A searcher has something to do: it stops searching, and if it was the last, another takes its place, unless there is nothing to find.
    #[inline]
    fn end(&self, me: &Me, found: &Found<'_>) {
        if self.is_on.replace(false) {
            self.end_searcher(me, found);
        }
    }

    #[inline(never)]
    fn end_searcher(&self, me: &Me, found: &Found<'_>) {
        me.spend_on(WorkerState::Busy);
        let counters = me.permits().end_search();
        let silent = is_planted("idle_last_searcher_is_silent");
        if !owes_a_search(me, counters) {
            return;
        }
        if !silent && policy::on_found_work(counters.view()) == policy::Wake::One {
            me.permits().wake_one(&me.pool, None, found.what());
        } else if counters.get(Count::Free) == 0 {
            // LIVENESS: work that was announced while we searched may be left, and every permit is now in use, perhaps for long.
            me.pool.watched().watch_for(found.what());
        }
    }

    /// This thread stops searching, if it does. `is_work_left`: for another reason than that it has found nothing.
    pub fn stop(&self, me: &Me, is_work_left: bool) {
        match (self.is_on.replace(false), is_work_left) {
            (false, _) => {}
            (true, true) => me.permits().pass_search_on(&me.pool),
            (true, false) => drop(me.permits().end_search()),
        }
    }

    /// This thread is about to run what it has found. If that is a job of another thread and the two share a CPU, it goes to another
    /// CPU: the kernel would let them alternate, even if another is idle.
    #[inline]
    pub fn note_run(&self, me: &Me, found: &Found<'_>) {
        self.last.set(found.what());
        self.is_after_tick.set(matches!(found, Found::Tick(..)));
        self.tick_ended_ns.set(None);
        if let Found::Fork { victim, .. } = found {
            self.part_from(me, victim);
        }
    }

    fn part_from(&self, me: &Me, victim: &WorkerShared) {
        let system = me.pool.system();
        let Some(cpu) = system.cpu() else { return };
        let lately = |at: Instant| at.elapsed().as_nanos() < u128::from(tuning::PART_EVERY_NS);
        if !victim.has_shared_on(cpu) || victim.id() == me.id() || self.left_cpu.get().is_some_and(lately) {
            return;
        }
        self.left_cpu.set(Some(Instant::now()));
        // It may have gone elsewhere since it said where it is.
        if victim.number().and_then(|number| system.cpu_of_runnable(number)) == Some(cpu) {
            heist_os::leave_cpu(system, cpu);
        }
    }
}

/// Whether no other thread of the pool is awake, so that none has jobs of its own that others could take.
fn runs_alone(me: &Me, counters: Counters) -> bool {
    counters.get(Count::Free) + 1 == me.permits().in_use() && counters.get(Count::Overtaking) == 0
}

/// Whether there may be work that was announced to nobody because this thread searched, which has found something and does not search any more. It
/// knows only if it is alone; what it makes itself it announces.
fn owes_a_search(me: &Me, counters: Counters) -> bool {
    if !runs_alone(me, counters) {
        return true;
    }
    // LIVENESS(S2): those that fell asleep because we searched have asked nobody. Our next push looks for them, as does that of whoever rises
    // from here on.
    if !is_planted("idle_finder_asks_nobody") {
        let _ = me.shared.stack.arm();
    }
    // ORDERING(PERMIT-E3): the end of our search before our look; partner: `announce`.
    fence(Ordering::SeqCst);
    me.pool.queues().has_visible_work(me.pool.threads().table())
}

/// What a thread at the bottom of its stack has found in a queue, unless no permit is active any more.
///
/// ORDERING: that is asked after it was taken out. Who has queued it after it has let no permit be active is then seen to have done so, because
/// whoever takes something from a queue acquires it.
#[inline(always)]
fn unless_stopped<'a>(me: &Me, found: Option<Found<'a>>, what: What) -> Option<Found<'a>> {
    if what == What::Jobs || me.pool.active() > 0 {
        return found;
    }
    give_back(me, found)
}

/// Whatever may wait goes to the injectors. The other half of a fork belongs to something that has begun.
#[cold]
fn give_back<'a>(me: &Me, found: Option<Found<'a>>) -> Option<Found<'a>> {
    let queues = me.pool.queues();
    match found {
        Some(Found::Job(job)) => queues.jobs.push(job),
        Some(Found::Task(task)) => queues.tasks.push(task),
        found => return found,
    }
    // LIVENESS: who lets permits be active again may have looked while it was in no queue. It is announced, and we look before we sleep.
    me.permits().announce(&me.pool, WokenFor::Task);
    me.hand_in();
    None
}

/// A job that only the holder of this thread's permit may run. It tells its index, so that is observed from here on.
#[inline]
fn take_broadcast(me: &Me, permit: &OwnPermit) -> Option<JobRef> {
    let queues = me.pool.queues();
    if queues.broadcasts(permit.index()?).is_empty() {
        return None;
    }
    // Without the permit there is another queue to look at.
    queues.broadcasts(permit.observe_held(me)?).pop()
}
