//! Which tick is due, and for whom: the tick queues and the permits together. Looks only; whoever has to be told of what they find is told by
//! [`DriverWaiter`](crate::driver_waiter::DriverWaiter). See *Ticks* in the README of `queues`.

use crate::driver_lock::DriverLock;
use crate::permits::{Count, Permits};
use crate::places::Places;
use crate::pool::{Config, Pool};
use crate::queues::ticks::{Taken, TickRef, Ticks};
use crate::threads::Threads;
use crate::worker::WorkerShared;
use heist_policy::tick::{self as policy, TickChoice, TickView};
use heist_policy::tuning;
use std::ops::Range;

/// What a look at the tick queues finds: the parts of a pool that say what is due, and who may run it.
#[derive(Clone, Copy)]
pub struct Due<'a> {
    config: &'a Config,
    ticks: &'a Ticks,
    permits: &'a Permits,
    threads: &'a Threads,
    driver: &'a DriverLock,
    places: Option<&'a Places>,
}

/// Who serves an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Served {
    /// Nobody: its permit is free, or on its way to somebody.
    ByNobody,
    /// A thread that does not get to its queues soon.
    Later,
    /// A thread that gets there.
    Soon,
}

impl<'a> Due<'a> {
    /// A look at this pool's.
    #[inline]
    pub(crate) fn of(pool: &'a Pool) -> Self {
        Self {
            config: pool.config(),
            ticks: pool.queues().ticks(),
            permits: pool.permits(),
            threads: pool.threads(),
            driver: pool.driver(),
            places: pool.places(),
        }
    }

    fn served(self, index: u16) -> Served {
        let Some(thread) = self.permits.words().get(index).thread() else { return Served::ByNobody };
        let leaves_ticks = |worker: &WorkerShared| worker.leaves_ticks();
        match self.threads.table().get(thread.into()).is_some_and(leaves_ticks) {
            true => Served::Later,
            false => Served::Soon,
        }
    }

    /// What a thread that does not hold `index` sees of its ticks.
    fn tick_view(self, index: u16) -> TickView {
        if !self.is_active(index) {
            return self.whole_view(index);
        }
        let ticks = self.ticks;
        let TickView { due_ns, stealable_ns } = ticks.view(index, self.served(index) != Served::Soon);
        TickView { due_ns, stealable_ns: stealable_ns.saturating_add(self.far_ns(ticks.near(index))) }
    }

    /// For how long the calling thread leaves a tick that should run near a node to those that are nearer.
    fn far_ns(self, near: Option<u16>) -> u64 {
        let rank = || {
            let places = self.places?;
            Some(places.rank_of(near?, places.here()?))
        };
        if near.is_some() { u64::from(rank().unwrap_or(0)) * tuning::TICK_FAR_NS } else { 0 }
    }

    /// Which tick a thread runs next: one of `own`, which it holds, or another's. Of those that are as late the nearest one's.
    fn choose_tick(self, own: Option<u16>, at_ns: u64) -> Option<TickChoice> {
        let own_due_ns = own.map(|index| self.ticks.due_ns(index));
        let others = || self.due_indices(at_ns).filter(move |&other| Some(other) != own);
        let view = |other: u16| (usize::from(other), self.tick_view(other));
        let nodes = self.places.and_then(|places| Some((places, places.here()?)));
        let Some((places, here)) = nodes else {
            return policy::next_tick(at_ns, own_due_ns, others().map(view));
        };
        let rank = |other| places.rank_of(here, places.node_of(other));
        let ranked =
            (0..places.nodes()).flat_map(|wanted| others().filter(move |&other| rank(other) == wanted));
        policy::next_tick(at_ns, own_due_ns, ranked.map(view))
    }

    /// All of them, those of permits that are not active included: their ticks are for whoever has time. None if no permit is active.
    pub(crate) fn indices(self) -> impl Iterator<Item = u16> {
        0..if self.permits.active() > 0 { self.permits.parallelism() as u16 } else { 0 }
    }

    fn is_active(self, index: u16) -> bool {
        usize::from(index) < self.permits.active()
    }

    /// Everything that is queued there may be taken as soon as it is due, also what is pinned.
    fn whole_view(self, index: u16) -> TickView {
        let due_ns = self.ticks.due_ns(index);
        TickView { due_ns, stealable_ns: due_ns }
    }

    /// Among which indices a new tick is placed: those that are active. A thread that has built the pool and is one of its own begins with the
    /// first, and has no loop in which it would come to it; so that one is left out if there are others.
    pub fn indices_for_ticks(self) -> Range<usize> {
        let active = self.permits.active().max(1);
        usize::from(active > 1 && self.threads.has_maker())..active
    }

    /// Those indices that have a tick which is due, as a cheap first look.
    fn due_indices(self, now_ns: u64) -> impl Iterator<Item = u16> {
        self.indices().filter(move |&index| self.ticks.due_ns(index) <= now_ns)
    }

    /// Whether one of them has a tick that is due by then.
    pub(crate) fn is_any_by(self, until_ns: u64) -> bool {
        self.due_indices(until_ns).next().is_some()
    }

    /// How many indices have a tick that is due.
    pub(crate) fn how_many(self) -> usize {
        if self.driver.has_ticks() { self.due_indices(self.ticks.now_ns()).count() } else { 0 }
    }

    /// Takes the most overdue tick that the holder of `index` may run at `at_ns`, or that a thread without a permit may.
    pub fn take(self, pool: &'a Pool, index: Option<u16>, at_ns: u64) -> Option<(TickRef, Taken<'a>)> {
        let ticks = self.ticks;
        // While no permit is active they count as paused.
        while self.permits.active() > 0 {
            let (from, tick, moves) = match (self.choose_tick(index, at_ns)?, index) {
                (TickChoice::Own, Some(index)) => (index, ticks.pop(index, at_ns), false),
                (TickChoice::Own, None) => return None,
                (TickChoice::Steal(from), _) => {
                    let (from, served) = (from as u16, self.served(from as u16));
                    let is_active = self.is_active(from);
                    let tick = match is_active {
                        true => ticks.steal(from, at_ns, served != Served::Soon, |near| self.far_ns(near)),
                        false => ticks.pop(from, at_ns),
                    };
                    // What nobody serves stays where it was placed: the next thread that is needed takes that permit.
                    (from, tick, !is_active || served != Served::ByNobody)
                }
            };
            // Another thread was faster: what is left may be for us as well.
            if let Some(tick) = tick {
                return Some((tick, Taken { pool, from, index, moves, at_ns }));
            }
        }
        None
    }

    /// An index with a tick that a thread without a permit may take now.
    pub(crate) fn stealable(self) -> Option<u16> {
        if !self.driver.has_ticks() {
            return None;
        }
        let now_ns = self.ticks.now_ns();
        let views = self.due_indices(now_ns).map(|index| (index.into(), self.tick_view(index)));
        match policy::next_tick(now_ns, None, views)? {
            TickChoice::Steal(index) => Some(index as u16),
            TickChoice::Own => None,
        }
    }

    /// The free indices with a tick that is due: whoever takes such a permit runs it, also if it is pinned there.
    pub(crate) fn free_indices(self) -> impl Iterator<Item = u16> {
        let now_ns = self.driver.has_ticks().then(|| self.ticks.now_ns());
        let due = now_ns.into_iter().flat_map(move |now_ns| self.due_indices(now_ns));
        due.filter(move |&index| self.is_active(index) && self.served(index) == Served::ByNobody)
    }

    /// Whether there is a tick for somebody who would take a permit, or has none.
    pub(crate) fn has_tick(self) -> bool {
        self.stealable().is_some() || self.free_indices().next().is_some()
    }

    /// What a thread that sleeps sees of this index: for a free one it would take the permit, and with it what is pinned there.
    pub(crate) fn rise_view(self, index: u16) -> TickView {
        let ticks = self.ticks;
        match self.served(index) {
            Served::ByNobody => self.whole_view(index),
            _ if !self.is_active(index) => self.whole_view(index),
            served => {
                let TickView { due_ns, stealable_ns } = ticks.view(index, served == Served::Later);
                // While somebody changes the queue, the one may be known before the other. Nobody finds a tick before both say so, so
                // nobody rises for it in vain.
                TickView { due_ns, stealable_ns: stealable_ns.max(ticks.due_ns(index)) }
            }
        }
    }

    /// When the thread that waits in the driver has to rise for a tick, or for the watchdog.
    pub(crate) fn next_rise_ns(self) -> u64 {
        let views = self.indices().map(|index| {
            let TickView { due_ns, stealable_ns } = self.rise_view(index);
            let far_ns = match self.served(index) {
                Served::ByNobody => 0,
                _ => self.far_ns(self.ticks.near(index)),
            };
            (index.into(), TickView { due_ns, stealable_ns: stealable_ns.saturating_add(far_ns) })
        });
        policy::nearest(None, views).unwrap_or(policy::NEVER).min(self.ticks.watchdog().next_ns())
    }

    /// Whether a thread that waits would rise for a tick at once.
    pub(crate) fn is_rise_due(self) -> bool {
        self.driver.has_ticks() && self.next_rise_ns() <= self.ticks.now_ns()
    }

    /// When somebody has to rise for a tick, as far as the monitor can help: a thread that it sends should wait for that by then.
    fn next_help_ns(self) -> u64 {
        let is_in_vain = self.config.is_bound() && self.permits.count(Count::Free) == 0;
        match self.driver.has_ticks() {
            false => policy::NEVER,
            // Only the watchdog: nobody can be sent.
            true if is_in_vain => self.ticks.watchdog().next_ns(),
            true => self.next_rise_ns(),
        }
    }

    /// Whether something is ready in the driver, or may be, or is due soon, and nobody waits there.
    pub(crate) fn is_driver_left(self) -> bool {
        let driver = self.driver;
        let soon_ns = || self.ticks.now_ns().saturating_add(tuning::LOOK_EVERY_MOST_NS);
        driver.is_unattended() && (driver.is_driver_used() || self.next_help_ns() <= soon_ns())
    }

    /// In how long the monitor should look, to be there before the next tick is due. `None` if a thread waits for that, which asks the monitor
    /// when it leaves, or if there is none.
    pub(crate) fn next_look_in_ns(self) -> Option<u64> {
        // Virtual time stands still while nobody looks.
        let is_manual = self.ticks.clock().manual().is_some();
        if is_manual || !self.driver.is_unattended() {
            return None;
        }
        let help_ns = Some(self.next_help_ns()).filter(|&ns| ns != policy::NEVER)?;
        let left_ns = help_ns.saturating_sub(self.ticks.now_ns());
        // Who does not look until then has neglected it.
        let _ = self.driver.is_neglected();
        Some(left_ns.saturating_sub(tuning::LOOK_EVERY_MOST_NS).max(tuning::LOOK_EVERY_NS))
    }

    /// When the next tick or timer is due, where time is virtual; never if nobody may run it.
    pub(crate) fn next_due_ns(self) -> u64 {
        if self.permits.active() == 0 {
            return policy::NEVER;
        }
        let ticks = self.indices().map(|index| self.ticks.due_ns(index)).min();
        ticks.unwrap_or(policy::NEVER).min(self.driver.next_timer_ns())
    }
}
