#![doc = include_str!("README.md")]

mod counters;
mod hold;
mod ledger;
mod words;

#[cfg(all(test, heist_loom))]
mod loom;
#[cfg(all(test, not(heist_model)))]
mod tests;

pub use counters::{Count, Counters};
pub use ledger::{Grant, Ledger, TakeBack, Wake};
pub use words::{AtBottom, Words};

use crate::follow::Follower;
use crate::pool::Pool;
use crate::recorder;
use crate::threads::{Table, ThreadStart};
use crate::worker::{Given, Role, Worker, WorkerShared};
use crossbeam_utils::CachePadded;
use heist_os::WokenFor;
use heist_policy as policy;
use heist_sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use heist_sync::barrier;
use heist_sync::planted::is_planted;
use heist_sync::{Mutex, MutexGuard, StdArc as Arc, lock, std_atomic};
use heist_trace::Kind;

/// The ledger, and the words in front of it that running threads read without the lock.
#[derive(Debug)]
pub struct Permits {
    counters: CachePadded<AtomicU64>,
    /// How many there are.
    parallelism: AtomicUsize,
    /// How many are active, and how many are withheld because they are not; as the ledger says, for those who do not open it.
    active: AtomicUsize,
    withheld: AtomicUsize,
    /// How many were active when some last were.
    before_stop: AtomicUsize,
    words: Arc<Words>,
    ledger: Mutex<Ledger>,
    follower: Follower,
    /// How often a thread that is none of the pool's has woken one that is. To be shown, so it is not for the checkers.
    wakes_from_outside: std_atomic::AtomicU64,
}

/// The open ledger. What it says of free permits is published when it is closed.
pub struct Open<'a> {
    permits: &'a Permits,
    ledger: MutexGuard<'a, Ledger>,
    before: (usize, usize),
}

impl Permits {
    /// `n` permits, all free. `is_bound`: thread and permit are one.
    pub fn new(n: usize, is_bound: bool) -> Self {
        let words = Arc::new(Words::new(n));
        Self {
            counters: CachePadded::new(AtomicU64::new(Counters::new(n).0)),
            parallelism: AtomicUsize::new(n),
            active: AtomicUsize::new(n),
            withheld: AtomicUsize::new(0),
            before_stop: AtomicUsize::new(n),
            ledger: Mutex::new(Ledger::new(Arc::clone(&words), n, is_bound)),
            words,
            follower: Follower::default(),
            wakes_from_outside: std_atomic::AtomicU64::new(0),
        }
    }

    pub fn open(&self) -> Open<'_> {
        let ledger = lock(&self.ledger);
        Open { permits: self, before: (ledger.free().len(), ledger.wanting()), ledger }
    }

    /// How many permits there are, active or not: every index is below this.
    #[inline]
    pub fn parallelism(&self) -> usize {
        self.parallelism.load(Ordering::Relaxed)
    }

    /// How many permits may be free or held: those below this index.
    #[inline]
    pub fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// How many permits are free, held, or on their way to a thread that starts.
    pub fn in_use(&self) -> usize {
        self.parallelism() - self.withheld.load(Ordering::Relaxed)
    }

    /// Whether no thread holds one, looks for work, or runs without one.
    pub fn are_all_free(&self) -> bool {
        self.counters() == Counters::new(self.in_use())
    }

    /// Permits from `n` up do not exist any more: their threads could not be started.
    pub fn shrink_to(&self, n: usize) {
        let mut open = self.open();
        open.drop_from(n as u16);
        let active = self.active().min(n);
        self.active.store(active, Ordering::Relaxed);
        self.before_stop.store(active, Ordering::Relaxed);
        self.parallelism.store(n, Ordering::Relaxed);
    }

    /// If no permit is active, as many are again as were before that.
    pub fn end_stop(&self, pool: &Pool) {
        if self.active() == 0 {
            self.set_active(pool, self.before_stop.load(Ordering::Relaxed));
        }
    }

    /// From here on the first `n` permits are active. Returns at once; whoever holds another one gives it up at its next job boundary.
    pub fn set_active(&self, pool: &Pool, n: usize) {
        if n > 0 && self.active() == 0 {
            // Before anybody can take one.
            pool.queues().ticks().go_on();
        }
        self.set_active_in(pool, self.open(), n);
    }

    /// As [`set_active`](Self::set_active), because a limit has changed. False, and nothing happens, if none is active: that is the program's
    /// wish, and no limit's.
    pub fn follow(&self, pool: &Pool, n: usize) -> bool {
        let open = self.open();
        // What is written with the lock does not change while we have it.
        let has_active = self.active() > 0;
        if has_active {
            self.set_active_in(pool, open, n);
        }
        has_active
    }

    fn set_active_in(&self, pool: &Pool, mut open: Open<'_>, n: usize) {
        let table = pool.threads().table();
        // LIVENESS: before any permit changes hands, so that who gets one sees how many there are.
        self.active.store(n, Ordering::Relaxed);
        if n > 0 {
            self.before_stop.store(n, Ordering::Relaxed);
        }
        let grants = open.set_active(n as u16);
        let granted: Vec<_> = grants.iter().filter_map(|grant| table.get(grant.thread.into())).collect();
        for (worker, grant) in granted.iter().zip(&grants) {
            worker.give(Given::Permit(grant.index));
        }
        drop(open);
        granted.iter().for_each(|worker| worker.wake(self, WokenFor::Task));
        if n == 0 {
            return;
        }
        // ORDERING(PERMIT-E3, TICK-E1): the free permits before our look; partner: who queues something fences before it reads the
        // counters, and the thread that waits for ticks announces itself before it asks which indices are active.
        fence(Ordering::SeqCst);
        // ORDERING(FORK-E6): as in `ask_and_look`.
        if table.arm_others(u16::MAX) {
            barrier::heavy();
        }
        if pool.queues().has_visible_work(table) || pool.due().has_tick() {
            self.wake_visible(pool);
        }
        // It may have had no reason to rise, and now has.
        pool.driver_waiter().hasten_all();
        pool.watched().watch();
    }

    /// The calling thread wakes one of the pool's.
    pub fn note_wake(&self) {
        match Worker::current().filter(|worker| std::ptr::eq(worker.pool().permits(), self)) {
            Some(worker) => worker.shared().own().wakes.add(1),
            None => drop(self.wakes_from_outside.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// How often a thread that is none of the pool's has woken one that is.
    pub fn wakes_from_outside(&self) -> u64 {
        self.wakes_from_outside.load(Ordering::Relaxed)
    }

    /// Whoever lets as many be active as the machine's limits allow.
    pub(crate) fn follower(&self) -> &Follower {
        &self.follower
    }

    /// Who holds which permit.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// For an announcement of work, and only behind a fence (FORK-E8, PERMIT-E3): see the README.
    #[inline]
    pub fn counters(&self) -> Counters {
        Counters(self.counters.load(Ordering::Relaxed))
    }

    /// How many there are of one kind.
    #[inline]
    pub fn count(&self, count: Count) -> usize {
        self.counters().get(count)
    }

    /// Changes a count; returns what all of them are right after.
    fn change(&self, count: Count, by: i32) -> Counters {
        // ORDERING: acquire-release, and callers fence where it matters; see FORK-E8 and PERMIT-E3 in the README.
        Counters(self.counters.fetch_add(count.times(by), Ordering::AcqRel)).add(count, by)
    }

    /// The caller becomes a searcher if there is room for one.
    pub fn try_search(&self, parallelism: usize) -> bool {
        let count = Count::Searching;
        let one_more = |bits| {
            let now = Counters(bits);
            policy::may_search(now.get(count), parallelism).then(|| now.add(count, 1).0)
        };
        // ORDERING: as in `change`.
        self.counters.fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_more).is_ok()
    }

    /// A searcher has found something, or stops for another reason.
    pub fn end_search(&self) -> Counters {
        self.change(Count::Searching, -1)
    }

    /// A thread without a permit stops running tasks.
    pub fn end_overtaking(&self) {
        self.change(Count::Overtaking, -1);
    }

    /// Whether a thread searches, or could be woken: jobs should be shared at once.
    #[inline]
    pub fn is_somebody_idle(&self) -> bool {
        let counters = self.counters();
        counters.get(Count::Searching) > 0 || counters.get(Count::Free) > 0
    }

    /// A searcher stops searching without having looked: if it was the last, another one is woken, or the monitor looks.
    pub fn pass_search_on(&self, pool: &Pool) {
        let counters = self.end_search();
        if policy::on_new_work(counters.view()) == policy::Wake::One {
            self.wake_one(pool, None, WokenFor::Job);
        } else if counters.get(Count::Free) == 0 {
            // LIVENESS: as for a searcher that has found something.
            pool.watched().watch_for(WokenFor::Job);
        }
    }

    /// Somebody has made work that others can see.
    pub fn announce(&self, pool: &Pool, what: WokenFor) {
        // ORDERING(PERMIT-E3): the work before the look at the counters; partner: `ask_and_look`, which looks at the work after
        // the counters say that a thread sleeps.
        fence(Ordering::SeqCst);
        self.announce_fenced(pool, what);
    }

    /// As [`announce`](Self::announce), for a caller that has fenced.
    pub fn announce_fenced(&self, pool: &Pool, what: WokenFor) {
        let counters = self.counters();
        if policy::on_new_work(counters.view()) == policy::Wake::One {
            self.wake_one(pool, None, what);
        } else if counters.get(Count::Free) == 0 {
            self.announce_to_overtakers(pool, what, counters);
        }
    }

    /// Every permit is in use. A task goes to a thread without one, if all that hold one compute, or one of them does and all did lately.
    /// Else they get to it, and the monitor sees to it that they do.
    #[cold]
    fn announce_to_overtakers(&self, pool: &Pool, what: WokenFor, counters: Counters) {
        let may = what == WokenFor::Task
            && counters.get(Count::Overtaking) == 0
            && match self.words.resident() {
                Some(_) => self.computing(pool).any(|computes| computes),
                None => self.computing(pool).all(|computes| computes),
            };
        if may {
            let open = self.open();
            if self.count(Count::Overtaking) > 0 || open.wake_overtaker(pool.threads().table()).is_none() {
                return;
            }
        }
        pool.watched().watch_for(what);
    }

    /// For each active permit, whether its holder does not get to its queues soon, as far as anybody knows. False if it is free, and if
    /// none is active.
    pub fn computing(&self, pool: &Pool) -> impl Iterator<Item = bool> {
        let table = pool.threads().table();
        let computes = |thread: u16| table.get(thread.into()).is_some_and(WorkerShared::computes);
        let active = self.active();
        let holds = self.words.iter().take(active.max(1));
        holds.map(move |hold| active > 0 && hold.thread().is_some_and(computes))
    }

    /// Wakes a thread to search, unless one searches already. With `only`, whoever searches, for a job that only the holder of that
    /// index may run.
    #[cold]
    pub fn wake_one(&self, pool: &Pool, only: Option<u16>, what: WokenFor) {
        let threads = pool.threads();
        let table = threads.table();
        let mut open = self.open();
        if only.is_none() && self.count(Count::Searching) > 0 {
            return;
        }
        let home = |thread: u16| table.get(thread.into()).map_or(0, WorkerShared::home);
        if let Some(places) = pool.places() {
            open.bring_near(places.rank_from_here(table));
        }
        // Before it is asked whether one may be started: a thread that has come meanwhile ends the refusal.
        let is_refused = threads.is_refused();
        match open.wake(only, threads.may_start(pool), home) {
            Wake::Nobody => {
                drop(open);
                // No thread can be had just now.
                if is_refused {
                    pool.watched().watch();
                } else if only.is_none() {
                    // LIVENESS: the permit that was free has gone to a thread that does not search, such as a guest or an overtaker.
                    self.announce_to_overtakers(pool, what, self.counters());
                }
            }
            Wake::Grant(grant) => {
                open.count(Count::Searching);
                open.grant_noted(table, grant, what, || {
                    recorder::record(pool, Kind::Wake, grant.thread.into(), || 0);
                });
            }
            Wake::Start(index) => {
                open.count(Count::Searching);
                drop(open);
                if ThreadStart::start_spare(pool, Some(index), Role::Holder).is_err() {
                    let mut open = self.open();
                    match open.start_failed(index) {
                        (Some(grant), true) => return open.grant(table, grant, what),
                        (grant, _) => open.hand_over(table, grant),
                    }
                    self.end_search();
                    // LIVENESS: work is visible, perhaps a permit is free, and no thread is there. The monitor tries again.
                    pool.watched().watch();
                }
            }
        }
    }

    /// The indices for which there is something that only the holder of their permit may run.
    pub fn bound_indices(pool: &Pool) -> impl Iterator<Item = u16> {
        pool.queues().broadcast_indices().chain(pool.due().free_indices())
    }

    /// Each free permit with a broadcast or a tick that only its holder may run goes to somebody.
    pub fn wake_for_bound(&self, pool: &Pool) {
        for index in Self::bound_indices(pool) {
            self.wake_one(pool, Some(index), WokenFor::Job);
        }
    }

    /// A permit is free and there is work: somebody gets it, for a broadcast that only its holder may run if there is one.
    pub fn wake_visible(&self, pool: &Pool) {
        self.wake_for_bound(pool);
        self.announce(pool, WokenFor::Job);
    }

    /// As [`ask_and_look`](Self::ask_and_look), for a thread that has given `index` up and leaves, with nothing of its own behind it.
    pub fn look_back(&self, pool: &Pool, me: u16, index: u16, is_alone: bool) -> bool {
        // ORDERING(PERMIT-E3): as there.
        fence(Ordering::SeqCst);
        let all_sleep = is_alone && self.counters() == Counters::new(pool.parallelism());
        // LIVENESS: all sleep, and all permits are free. Whoever has queued something while we had ours has read the counters behind its
        // fence. If one was free, it has seen to it that somebody searches. If none was, another thread has given one up since and has
        // looked, because it was not alone: we were there. Only a job for the holder of our index is for us to look for.
        if all_sleep && pool.parallelism() > 1 || is_planted("idle_guest_never_looks") {
            return !pool.queues().broadcasts(index).is_empty();
        }
        self.ask_and_look(pool, me, is_alone)
    }

    /// Asks every thread to look for sleepers at its next push, and looks whether there is work already. `is_alone`: all threads slept
    /// when the caller gave its permit up.
    pub fn ask_and_look(&self, pool: &Pool, me: u16, is_alone: bool) -> bool {
        // ORDERING(PERMIT-E3): our announcement before our look; partner: who queues something fences before it reads the counters.
        fence(Ordering::SeqCst);
        if self.count(Count::Searching) > 0 {
            // LIVENESS(S2): that searcher finds work and wakes the next, or comes here after us.
            return false;
        }
        // LIVENESS: nobody has to be asked if all sleep, still: whoever rises or joins after this asks itself to look. One that has taken a
        // permit since, and has looked while we still counted as a searcher, has changed this word before our own change of it.
        let counters = self.counters();
        let all_sleep =
            counters.get(Count::Free) == pool.parallelism() && counters.get(Count::Overtaking) == 0;
        let is_alone = is_alone && (all_sleep || is_planted("idle_alone_is_believed"));
        // ORDERING(FORK-E6): our requests before our look at the heads; partner: `is_slow_push`. Expensive while others run,
        // and not needed where threads come and go without forking.
        if !is_alone && !is_planted("idle_arm_before_count") && pool.threads().table().arm_others(me) {
            barrier::heavy();
        }
        // Not for ticks: who is about to sleep waits for them, or somebody does (TICK-E1).
        !is_planted("idle_no_last_look") && pool.queues().has_visible_work(pool.threads().table())
    }
}

impl Open<'_> {
    /// A thread that is woken to look for work, or to run tasks without a permit, counts as such from here on: a second announcement
    /// does not wake a second thread.
    pub fn count(&mut self, count: Count) {
        self.permits.change(count, 1);
    }

    /// Wakes a parked thread to run tasks without a permit: the resident one, or that which slept last. Gives the ledger back if
    /// there is none.
    pub fn wake_overtaker(mut self, table: &Table) -> Option<Self> {
        let Some(worker) = self.unpark_any().and_then(|id| table.get(id.into())) else { return Some(self) };
        self.count(Count::Overtaking);
        worker.give(Given::Tasks);
        let permits = self.permits;
        drop(self);
        worker.wake(permits, WokenFor::Task);
        None
    }

    /// A permit that was given up goes to a thread that wants one, if there is any; closes the ledger. That thread runs, or wants to
    /// go on where it is.
    pub fn hand_over(self, table: &Table, grant: Option<Grant>) {
        if let Some(grant) = grant {
            self.grant(table, grant, WokenFor::Task);
        }
    }

    /// Tells a thread about its permit and closes the ledger; in this order, so that a thread which learns from the ledger that it
    /// was granted something finds it.
    pub fn grant(self, table: &Table, grant: Grant, what: WokenFor) {
        self.grant_noted(table, grant, what, || ());
    }

    /// As [`grant`](Self::grant), and calls `note` without the lock, before the thread rises.
    fn grant_noted(self, table: &Table, grant: Grant, what: WokenFor, note: impl FnOnce()) {
        let worker = table.get(grant.thread.into()).expect("whoever is in the ledger is in the table");
        worker.give(Given::Permit(grant.index));
        let permits = self.permits;
        drop(self);
        note();
        worker.wake(permits, what);
    }
}

impl std::ops::Deref for Open<'_> {
    type Target = Ledger;
    fn deref(&self) -> &Ledger {
        &self.ledger
    }
}

impl std::ops::DerefMut for Open<'_> {
    fn deref_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let (free, wanting) = self.before;
        for (count, before, now) in
            [(Count::Free, free, self.ledger.free().len()), (Count::Wanting, wanting, self.ledger.wanting())]
        {
            if now != before {
                self.permits.change(count, now as i32 - before as i32);
            }
        }
        self.permits.withheld.store(self.ledger.withheld().len(), Ordering::Relaxed);
        #[cfg(debug_assertions)]
        self.ledger.check();
    }
}
