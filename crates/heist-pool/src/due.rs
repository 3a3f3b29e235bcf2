//! Which tick is due, and for whom: the tick queues and the permits together. See *Ticks* in the README of `queues`.

use crate::driver_lock::Told;
use crate::permits::Count;
use crate::pool::Pool;
use crate::queues::ticks::{Taken, TickRef};
use crate::worker::WorkerShared;
use heist_os::WokenFor;
use heist_policy::tick::{self as policy, TickChoice, TickView};
use heist_policy::tuning;
use heist_sync::atomic::{Ordering, fence};
use heist_sync::planted::is_planted;
use std::ops::Range;

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

impl Pool {
    fn served(&self, index: u16) -> Served {
        let Some(thread) = self.permits().words().get(index).thread() else { return Served::ByNobody };
        let leaves_ticks = |worker: &WorkerShared| worker.leaves_ticks();
        match self.threads().table().get(thread.into()).is_some_and(leaves_ticks) {
            true => Served::Later,
            false => Served::Soon,
        }
    }

    /// What a thread that does not hold `index` sees of its ticks.
    fn tick_view(&self, index: u16) -> TickView {
        if !self.is_active(index) {
            return self.whole_view(index);
        }
        let ticks = self.queues().ticks();
        let TickView { due_ns, stealable_ns } = ticks.view(index, self.served(index) != Served::Soon);
        TickView { due_ns, stealable_ns: stealable_ns.saturating_add(self.far_ns(ticks.near(index))) }
    }

    /// For how long the calling thread leaves a tick that should run near a node to those that are nearer.
    fn far_ns(&self, near: Option<u16>) -> u64 {
        let rank = || {
            let places = self.places()?;
            Some(places.rank_of(near?, places.here()?))
        };
        if near.is_some() { u64::from(rank().unwrap_or(0)) * tuning::TICK_FAR_NS } else { 0 }
    }

    /// How near an index is to a node.
    pub fn rank_of(&self, near: Option<u16>, index: u16) -> u8 {
        let rank = |near| self.places().map(|places| places.rank_of(near, places.node_of(index)));
        near.and_then(rank).unwrap_or(0)
    }

    /// The node with the system's number. `None` if there is none, or only one, so that all is near.
    pub fn node_with(&self, number: usize) -> Option<u16> {
        self.places().and_then(|places| places.node_with(number))
    }

    /// Whether there are several nodes.
    pub fn has_nodes(&self) -> bool {
        self.places().is_some()
    }

    /// Which tick a thread runs next: one of `own`, which it holds, or another's. Of those that are as late the nearest one's.
    fn choose_tick(&self, own: Option<u16>, at_ns: u64) -> Option<TickChoice> {
        let own_due_ns = own.map(|index| self.queues().ticks().due_ns(index));
        let others = || self.due_indices(at_ns).filter(move |&other| Some(other) != own);
        let view = |other: u16| (usize::from(other), self.tick_view(other));
        let nodes = self.places().and_then(|places| Some((places, places.here()?)));
        let Some((places, here)) = nodes else {
            return policy::next_tick(at_ns, own_due_ns, others().map(view));
        };
        let rank = |other| places.rank_of(here, places.node_of(other));
        let ranked =
            (0..places.nodes()).flat_map(|wanted| others().filter(move |&other| rank(other) == wanted));
        policy::next_tick(at_ns, own_due_ns, ranked.map(view))
    }

    /// All of them, those of permits that are not active included: their ticks are for whoever has time. None if no permit is active.
    fn indices(&self) -> impl Iterator<Item = u16> {
        0..if self.permits().active() > 0 { self.parallelism() as u16 } else { 0 }
    }

    fn is_active(&self, index: u16) -> bool {
        usize::from(index) < self.permits().active()
    }

    /// Everything that is queued there may be taken as soon as it is due, also what is pinned.
    fn whole_view(&self, index: u16) -> TickView {
        let due_ns = self.queues().ticks().due_ns(index);
        TickView { due_ns, stealable_ns: due_ns }
    }

    /// Among which indices a new tick is placed: those that are active. A thread that has built the pool and is one of its own begins with the
    /// first, and has no loop in which it would come to it; so that one is left out if there are others.
    pub fn indices_for_ticks(&self) -> Range<usize> {
        let active = self.active().max(1);
        usize::from(active > 1 && self.threads().has_maker())..active
    }

    /// Those indices that have a tick which is due, as a cheap first look.
    fn due_indices(&self, now_ns: u64) -> impl Iterator<Item = u16> {
        self.indices().filter(move |&index| self.queues().ticks().due_ns(index) <= now_ns)
    }

    /// How many indices have a tick that is due.
    pub(crate) fn due_ticks(&self) -> usize {
        if self.driver().has_ticks() { self.due_indices(self.queues().ticks().now_ns()).count() } else { 0 }
    }

    /// Takes the most overdue tick that the holder of `index` may run at `at_ns`, or that a thread without a permit may.
    pub fn take_tick(&self, index: Option<u16>, at_ns: u64) -> Option<(TickRef, Taken<'_>)> {
        let ticks = self.queues().ticks();
        // While no permit is active they count as paused.
        while self.active() > 0 {
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
                return Some((tick, Taken { pool: self, from, index, moves, at_ns }));
            }
        }
        None
    }

    /// A thread begins a run of a tick that it took `late_ns` after it was due, and that should take `run_ns`. If that is long, or the thread
    /// is behind, and another tick is due before the end, then somebody else should be there for it.
    pub fn relieve(&self, late_ns: u64, begun_ns: u64, run_ns: u64) {
        let until_ns = begun_ns.saturating_add(run_ns);
        let is_due = || self.due_indices(until_ns).next().is_some();
        if policy::needs_relief(late_ns, run_ns) && is_due() && self.driver().is_unattended() {
            self.permits().announce(self, WokenFor::Task);
        }
    }

    /// An index with a tick that a thread without a permit may take now.
    pub(crate) fn stealable_tick(&self) -> Option<u16> {
        if !self.driver().has_ticks() {
            return None;
        }
        let now_ns = self.queues().ticks().now_ns();
        let views = self.due_indices(now_ns).map(|index| (index.into(), self.tick_view(index)));
        match policy::next_tick(now_ns, None, views)? {
            TickChoice::Steal(index) => Some(index as u16),
            TickChoice::Own => None,
        }
    }

    /// The free indices with a tick that is due: whoever takes such a permit runs it, also if it is pinned there.
    pub(crate) fn free_due_indices(&self) -> impl Iterator<Item = u16> {
        let now_ns = self.driver().has_ticks().then(|| self.queues().ticks().now_ns());
        let due = now_ns.into_iter().flat_map(|now_ns| self.due_indices(now_ns));
        due.filter(|&index| self.is_active(index) && self.served(index) == Served::ByNobody)
    }

    /// Whether there is a tick for somebody who would take a permit, or has none.
    pub(crate) fn has_due_tick(&self) -> bool {
        self.stealable_tick().is_some() || self.free_due_indices().next().is_some()
    }

    /// What a thread that sleeps sees of this index: for a free one it would take the permit, and with it what is pinned there.
    fn rise_view(&self, index: u16) -> TickView {
        let ticks = self.queues().ticks();
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
    pub(crate) fn next_rise_ns(&self) -> u64 {
        let views = self.indices().map(|index| {
            let TickView { due_ns, stealable_ns } = self.rise_view(index);
            let far_ns = match self.served(index) {
                Served::ByNobody => 0,
                _ => self.far_ns(self.queues().ticks().near(index)),
            };
            (index.into(), TickView { due_ns, stealable_ns: stealable_ns.saturating_add(far_ns) })
        });
        policy::nearest(None, views).unwrap_or(policy::NEVER).min(self.watch_ticks_at_ns())
    }

    /// Whether a thread that waits would rise for a tick at once.
    pub(crate) fn is_rise_due(&self) -> bool {
        self.driver().has_ticks() && self.next_rise_ns() <= self.queues().ticks().now_ns()
    }

    /// When somebody has to rise for a tick, as far as the monitor can help: a thread that it sends should wait for that by then.
    fn next_help_ns(&self) -> u64 {
        let is_in_vain = self.config().is_bound() && self.permits().count(Count::Free) == 0;
        match self.driver().has_ticks() {
            false => policy::NEVER,
            // Only the watchdog: nobody can be sent.
            true if is_in_vain => self.watch_ticks_at_ns(),
            true => self.next_rise_ns(),
        }
    }

    /// Whether something is ready in the driver, or may be, or is due soon, and nobody waits there.
    pub(crate) fn is_driver_left(&self) -> bool {
        let driver = self.driver();
        let soon_ns = || self.queues().ticks().now_ns().saturating_add(tuning::LOOK_EVERY_MOST_NS);
        driver.is_unattended() && (driver.is_driver_used() || self.next_help_ns() <= soon_ns())
    }

    /// In how long the monitor should look, to be there before the next tick is due. `None` if a thread waits for that, which asks the monitor
    /// when it leaves, or if there is none.
    pub(crate) fn next_look_in_ns(&self) -> Option<u64> {
        // Virtual time stands still while nobody looks.
        let is_manual = self.clock().manual().is_some();
        if is_manual || !self.driver().is_unattended() {
            return None;
        }
        let help_ns = Some(self.next_help_ns()).filter(|&ns| ns != policy::NEVER)?;
        let left_ns = help_ns.saturating_sub(self.queues().ticks().now_ns());
        // Who does not look until then has neglected it.
        let _ = self.driver().is_neglected();
        Some(left_ns.saturating_sub(tuning::LOOK_EVERY_MOST_NS).max(tuning::LOOK_EVERY_NS))
    }

    /// Tells the thread that waits, behind a fence, that something is due at `rise_ns`.
    fn tell_waiter(&self, rise_ns: u64) -> Told {
        // LIVENESS: whoever moves the clock looks what is due then.
        if self.clock().is_still_before(rise_ns) { Told::InTime } else { self.driver().hasten(rise_ns) }
    }

    /// A tick was queued at `index`, or its permit was given up: if that is news to the thread that waits, it is told. `comes_back`: the
    /// calling thread looks at its ticks in a moment, and sleeps where they wake it.
    pub fn hasten(&self, index: u16, comes_back: bool) {
        // ORDERING(TICK-E1): the queue, or the word of the permit, before the look at who waits; partner: `wait_for_ticks`, which
        // announces itself, fences, and then looks at queues and words.
        if !is_planted("tick_hasten_unfenced") {
            fence(Ordering::SeqCst);
        }
        let rise_ns = self.rise_view(index).stealable_ns;
        match self.tell_waiter(rise_ns) {
            Told::InTime => {}
            Told::Wake(thread) => self.wake_in_driver(thread),
            // LIVENESS: it gets to them itself, and the monitor sees if it does not.
            Told::Nobody if comes_back => self.watched().watch_from(rise_ns),
            Told::Nobody => self.attend(),
        }
    }

    /// The permit of `index` was given up: the thread that waits may have to rise earlier for its ticks. If nobody waits, the caller or the
    /// monitor sees to it.
    pub(crate) fn hasten_given_up(&self, index: u16) {
        if !self.driver().has_ticks() {
            return;
        }
        // ORDERING(TICK-E1): as in `hasten`.
        fence(Ordering::SeqCst);
        if let Told::Wake(thread) = self.tell_waiter(self.rise_view(index).stealable_ns) {
            self.wake_in_driver(thread);
        }
    }

    /// Which permits are active has changed: the thread that waits may have to rise earlier.
    pub(crate) fn hasten_all(&self) {
        for index in self.indices() {
            self.hasten_given_up(index);
        }
    }

    /// The watchdog of a tick has become more strict: the thread that waits may have to rise earlier for it.
    pub fn hasten_watchdog(&self, watchdog_ns: u64) {
        let look_ns = self.queues().ticks().watch_more(watchdog_ns);
        // ORDERING(TICK-E1): as in `hasten`.
        fence(Ordering::SeqCst);
        match self.tell_waiter(look_ns) {
            Told::InTime => {}
            Told::Wake(thread) => self.wake_in_driver(thread),
            Told::Nobody => self.watched().watch_from(look_ns),
        }
    }

    /// Ends the wait of the thread that waits for ticks.
    pub(crate) fn wake_in_driver(&self, thread: u16) {
        if let Some(worker) = self.threads().table().get(thread.into()) {
            worker.parker().unpark();
        }
    }
}
