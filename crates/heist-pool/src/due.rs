//! Which tick is due, and for whom: the tick queues and the permits together. See *Ticks* in the README of `queues`.

use crate::driver_lock::Told;
use crate::pool::Pool;
use crate::queues::ticks::{Taken, TickRef};
use crate::worker::WorkerShared;
use heist_policy::tick::{self as policy, TickChoice, TickView};
use heist_sync::atomic::{Ordering, fence};
use heist_sync::planted::is_planted;

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
        self.queues().ticks().view(index, self.served(index) != Served::Soon)
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

    /// Those indices that have a tick which is due, as a cheap first look.
    fn due_indices(&self, now_ns: u64) -> impl Iterator<Item = u16> {
        self.indices().filter(move |&index| self.queues().ticks().due_ns(index) <= now_ns)
    }

    /// How many indices have a tick that is due.
    pub(crate) fn due_ticks(&self) -> usize {
        if self.driver().has_ticks() { self.due_indices(self.queues().ticks().now_ns()).count() } else { 0 }
    }

    /// Takes the most overdue tick that the holder of `index` may run, or that a thread without a permit may.
    pub fn take_tick(&self, index: Option<u16>) -> Option<(TickRef, Taken<'_>)> {
        if !self.driver().has_ticks() {
            return None;
        }
        let ticks = self.queues().ticks();
        let now_ns = ticks.now_ns();
        loop {
            let own = index.map(|index| ticks.due_ns(index));
            let others = self.due_indices(now_ns).filter(|&other| Some(other) != index);
            let choice =
                policy::next_tick(now_ns, own, others.map(|other| (other.into(), self.tick_view(other))))?;
            let (from, tick) = match (choice, index) {
                (TickChoice::Own, Some(index)) => (index, ticks.pop(index, now_ns)),
                (TickChoice::Own, None) => return None,
                (TickChoice::Steal(from), _) => {
                    let from = from as u16;
                    let tick = match self.is_active(from) {
                        true => ticks.steal(from, now_ns, self.served(from) != Served::Soon),
                        false => ticks.pop(from, now_ns),
                    };
                    (from, tick)
                }
            };
            // Another thread was faster: what is left may be for us as well.
            if let Some(tick) = tick {
                return Some((tick, Taken { pool: self, from, index }));
            }
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
        let views = self.indices().map(|index| (index.into(), self.rise_view(index)));
        policy::nearest(None, views).unwrap_or(policy::NEVER).min(self.watch_ticks_at_ns())
    }

    /// A tick was queued at `index`, or its permit was given up: if that is news to the thread that waits, it is told. `comes_back`: the
    /// calling thread looks at its ticks in a moment, and sleeps where they wake it.
    pub fn hasten(&self, index: u16, comes_back: bool) {
        // ORDERING(TICK-E1): the queue, or the word of the permit, before the look at who waits; partner: `wait_for_ticks`, which
        // announces itself, fences, and then looks at queues and words.
        if !is_planted("tick_hasten_unfenced") {
            fence(Ordering::SeqCst);
        }
        match self.driver().hasten(self.rise_view(index).stealable_ns) {
            Told::InTime => {}
            Told::Wake(thread) => self.wake_in_driver(thread),
            // LIVENESS: it gets to them itself, and the monitor sees if it does not.
            Told::Nobody if comes_back => self.watched().watch(),
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
        if let Told::Wake(thread) = self.driver().hasten(self.rise_view(index).stealable_ns) {
            self.wake_in_driver(thread);
        }
    }

    /// Which permits are active has changed: the thread that waits may have to rise earlier.
    pub(crate) fn hasten_all(&self) {
        for index in self.indices() {
            self.hasten_given_up(index);
        }
    }

    /// Ends the wait of the thread that waits for ticks.
    pub(crate) fn wake_in_driver(&self, thread: u16) {
        if let Some(worker) = self.threads().table().get(thread.into()) {
            worker.parker().unpark();
        }
    }
}
