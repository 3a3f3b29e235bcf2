//! A thread's permit: asking for its index, lending it in a wait, going on with or without it, and what happens at the loop's
//! bottom. See the README of `permits`.

use super::me::Me;
use super::shared::{Doing, Role};
use crate::metrics::WorkerState;
use crate::permits::{AtBottom, Count, TakeBack};
use crate::places::Places;
use crate::waits::Waits;
use heist_os::WokenFor;
use heist_policy::tuning;
use heist_sync::planted::is_planted;
use heist_trace::Kind;
use std::cell::Cell;

/// The owner's side of its permit.
pub(super) struct OwnPermit {
    /// The index that it runs with, as far as it knows: unless it has observed it, somebody may have taken it.
    index: Cell<Option<u16>>,
    /// Something on its stack has asked for the index.
    is_observed: Cell<bool>,
    /// It sleeps in a wait and may be granted a permit to help with.
    is_lender: Cell<bool>,
    /// How many waits on its stack run others' jobs.
    helping: Cell<u32>,
    /// It is inside of `blocking`.
    is_blocking: Cell<bool>,
    /// The node on whose CPUs it is kept, if it is.
    pinned: Cell<Option<u16>>,
    role: Cell<Role>,
    /// The role to go back to: `Guest` for a thread of the program's own.
    plain: Role,
}

/// In what a thread gives its permit away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lends {
    /// In a wait: it sleeps, and can be woken to help where no other thread can be had, unless it does so already for too many waits.
    Asleep,
    /// In something else, after which it goes on.
    Awake,
    /// It leaves the pool.
    Leaving,
}

/// What is put aside while something runs on top of a wait, or inside of `blocking`.
#[must_use]
pub(super) struct Aside {
    was_observed: bool,
    was_blocking: bool,
}

impl OwnPermit {
    pub fn new(role: Role) -> Self {
        Self {
            index: Cell::new(None),
            is_observed: Cell::new(false),
            is_lender: Cell::new(false),
            helping: Cell::new(0),
            is_blocking: Cell::new(false),
            pinned: Cell::new(None),
            role: Cell::new(role),
            plain: if role == Role::Guest { Role::Guest } else { Role::Holder },
        }
    }

    pub fn index(&self) -> Option<u16> {
        self.index.get()
    }

    pub fn set_index(&self, me: &Me, index: Option<u16>) {
        if let Some(index) = index {
            me.shared.set_home(index);
            if self.role.get() != self.plain {
                self.set_role(me, self.plain);
            }
            if let Some(places) = me.pool.places() {
                self.take_place(me, places, index);
            }
            me.permits().follower().note_busy();
        }
        self.index.set(index);
    }

    /// The thread says where it is. If the program asks for it, it goes to the node of its index first, and stays there. A thread of the
    /// program's own is left where it is.
    #[cold]
    fn take_place(&self, me: &Me, places: &Places, index: u16) {
        match places.pin_of(index) {
            Some((node, mask)) if !self.is_guest() => {
                if self.pinned.replace(Some(node)) != Some(node) {
                    me.shared.affinity.place(mask);
                }
                me.shared.set_node(Some(node));
            }
            _ => me.shared.set_node(places.here()),
        }
    }

    pub fn role(&self) -> Role {
        self.role.get()
    }

    pub fn set_role(&self, me: &Me, role: Role) {
        self.role.set(role);
        me.shared.set_role(role);
    }

    /// Whether the thread is one of the program's own.
    pub fn is_guest(&self) -> bool {
        self.plain == Role::Guest
    }

    /// Whether the thread is inside of `blocking`.
    pub fn is_blocking(&self) -> bool {
        self.is_blocking.get()
    }

    /// Puts aside what was observed on this stack, and whether it is inside of `blocking`.
    pub fn put_aside(&self, is_blocking: bool) -> Aside {
        Aside {
            was_observed: self.is_observed.replace(false),
            was_blocking: self.is_blocking.replace(is_blocking),
        }
    }

    pub fn put_back(&self, aside: &Aside) {
        self.is_observed.set(aside.was_observed);
        self.is_blocking.set(aside.was_blocking);
    }

    /// Runs others' jobs in the middle of a wait. The index that was observed below is none of theirs, and what is below may be
    /// inside of `blocking`, but they are not.
    pub fn help(&self, run: impl FnOnce()) {
        self.is_lender.set(false);
        self.helping.set(self.helping.get() + 1);
        let aside = self.put_aside(false);
        run();
        self.put_back(&aside);
        self.helping.set(self.helping.get() - 1);
    }

    /// The index that was observed.
    #[inline]
    pub fn observed(&self) -> Option<u16> {
        self.index.get().filter(|_| self.is_observed.get())
    }

    /// Whether something on this stack has asked for its index, and is to have it back after each wait.
    pub fn has_observed(&self) -> bool {
        self.is_observed.get()
    }

    /// Observes the index of the permit that this thread runs with. Without a permit it waits for one, except where there is none to
    /// be had: inside of `blocking`, and on a thread that runs tasks or rescues jobs without one.
    #[cold]
    pub fn observe(&self, me: &Me, is_polling: bool) -> Option<u16> {
        if self.is_blocking.get() || matches!(self.role.get(), Role::Overtaker | Role::Rescuer) {
            return None;
        }
        loop {
            let held = self.observe_held(me);
            // A task whose permit was handed on because it blocked has none.
            if held.is_some() || is_polling {
                return held;
            }
            self.wait_for_one(me);
        }
    }

    /// As [`observe`](Self::observe), if this thread holds a permit now.
    pub fn observe_held(&self, me: &Me) -> Option<u16> {
        if self.is_blocking.get() {
            return None;
        }
        if self.index.get().is_none()
            && self.role.get() == Role::Resumed
            && let Some(index) = me.shared.take_granted()
        {
            self.set_index(me, Some(index));
        }
        let index = self.index.get()?;
        if !self.is_observed.get() && !me.permits().words().observe(index, me.id()) {
            self.index.set(None);
            self.set_role(me, Role::Resumed);
            return None;
        }
        self.is_observed.set(true);
        Some(index)
    }

    /// Sleeps until this thread, which has none, is granted a permit.
    fn wait_for_one(&self, me: &Me) {
        me.share_all();
        let mut open = me.permits().open();
        open.stop_wanting(me.id());
        let index = me.shared.take_granted().or_else(|| open.resume(me.id(), me.shared.home()));
        drop(open);
        me.trace(Kind::Block, 0);
        let spent = me.spend_on(WorkerState::Waiting);
        // LIVENESS: we are in the list of those that want a permit. Whoever reaches its job boundary, lends or parks grants it
        // under the lock and then unparks us.
        let index = index.unwrap_or_else(|| self.wait_for_it(me, me.shared.home()));
        self.set_index(me, Some(index));
        me.spend_on(spent);
        me.trace(Kind::Unblock, 0);
    }

    /// Sleeps until this thread is granted a permit, `first` if it can be. The caller has made sure that it will be.
    fn wait_for_it(&self, me: &Me, first: u16) -> u16 {
        let waits = me.shared.own().set_waits(Waits::permit(first));
        let doing = me.shared.set_doing(Doing::Wait);
        let index = me.shared.wait_granted();
        me.shared.set_doing(doing);
        me.shared.own().set_waits(waits);
        index
    }

    /// A thread that goes on without a permit takes one that is free, or has been granted. True if it has one.
    pub fn try_for_one(&self, me: &Me) -> bool {
        if self.index.get().is_none()
            && self.role.get() == Role::Resumed
            && (me.permits().count(Count::Free) > 0 || me.shared.has_given())
        {
            let mut open = me.permits().open();
            let index = match open.stop_wanting(me.id()) {
                true => open.resume(me.id(), me.shared.home()),
                false => me.shared.take_granted(),
            };
            drop(open);
            self.set_index(me, index);
        }
        self.index.get().is_some()
    }

    /// Shares everything and gives the permit away, if this thread has one: returns its index.
    pub fn lend(&self, me: &Me, lends: Lends) -> Option<u16> {
        if lends != Lends::Leaving {
            me.share_all();
        }
        let (permits, threads) = (me.permits(), me.pool.threads());
        let mut open = permits.open();
        let mut index = self.index.get();
        if index.is_none() && !open.stop_wanting(me.id()) {
            // One that has just arrived is lent on.
            index = me.shared.take_granted();
        }
        let held = index.filter(|&index| permits.words().get(index).is_by(me.id()));
        let grant = held.and_then(|index| open.release(me.id(), index));
        // Inside of `blocking` the permit has been lent before.
        let lent = held.or_else(|| self.is_blocking.get().then(|| me.shared.home()));
        if let Some(index) = lent
            && lends == Lends::Asleep
            && self.helping.get() < tuning::HELP_DEPTH_MOST
        {
            open.wait(me.id(), index);
            self.is_lender.set(true);
        }
        let is_alone = self.is_guest() && open.parked().len() + 1 == threads.live();
        if self.is_guest() && lends == Lends::Leaving {
            threads.uncount_guest(&open);
        }
        open.hand_over(threads.table(), grant);
        if let Some(index) = held {
            me.pool.driver_waiter().hasten_given_up(index);
        }
        self.index.set(None);
        if self.role.get() == Role::Overtaker && !self.is_blocking.get() {
            // Another thread runs tasks meanwhile.
            permits.end_overtaking();
            permits.announce(&me.pool, WokenFor::Task);
        }
        if let Some(index) = held {
            me.shared.set_home(index);
            me.trace(Kind::Lend, u32::from(index));
        }
        // As in `Sleep::sleep`: a permit is free, and nobody searches for it.
        let is_visible = match lent {
            Some(index) if grant.is_none() && lends == Lends::Leaving => {
                permits.look_back(&me.pool, me.id(), index, is_alone)
            }
            Some(_) if grant.is_none() => permits.ask_and_look(&me.pool, me.id(), is_alone),
            _ => false,
        };
        if is_visible {
            permits.wake_visible(&me.pool);
        }
        held
    }

    /// A thread that sleeps in a wait takes the permit that it was granted to help with, if there is one.
    pub fn take_granted_to_help(&self, me: &Me) -> bool {
        if !self.is_lender.get() {
            return false;
        }
        let Some(index) = me.shared.take_granted() else { return false };
        self.set_index(me, Some(index));
        true
    }

    /// After a wait, in which the permit `lent` was given away. A thread that has observed it gets it back, from a borrower that has
    /// not observed it at once, else at that one's next job boundary; any other goes on at once, with a permit or without.
    pub fn resume(&self, me: &Me, lent: Option<u16>) {
        let permits = me.permits();
        let mut open = permits.open();
        if self.is_lender.replace(false) && !open.end_wait(me.id()) && !is_planted("permit_grant_forgotten") {
            drop(open);
            if self.resume_granted(me, lent) {
                return;
            }
            open = permits.open();
        }
        let first = lent.unwrap_or_else(|| me.shared.home());
        let index = match self.role.get() {
            _ if lent.is_some() && self.is_observed.get() => {
                let back = open.take_back(me.id(), first);
                drop(open);
                // LIVENESS: the holder, which has observed the index, gives it at its next job boundary and unparks us: where
                // rayon's wait would have had the holder's job on its own stack.
                Some(if back == TakeBack::Asked { self.wait_for_it(me, first) } else { first })
            }
            // It goes on without. Inside of `blocking`, the end of that is when it wants a permit again.
            _ if self.is_blocking.get() => return,
            Role::Rescuer => return,
            Role::Overtaker => return open.count(Count::Overtaking),
            Role::Holder | Role::Resumed | Role::Guest => {
                let index = open.resume(me.id(), first);
                drop(open);
                index
            }
        };
        match index {
            Some(index) => {
                self.set_index(me, Some(index));
                me.trace(Kind::Return, u32::from(index));
            }
            None => self.set_role(me, Role::Resumed),
        }
    }

    /// A permit was granted to help with at the very moment the wait ended; whatever it was granted for is left to others. True if the
    /// thread goes on with it.
    fn resume_granted(&self, me: &Me, lent: Option<u16>) -> bool {
        let permits = me.permits();
        let granted = me.shared.take_granted();
        self.set_index(me, granted);
        // What it ran meanwhile may have left it with another permit than the one that it has observed; and inside of `blocking` it
        // has none.
        let is_it = match (self.is_blocking.get(), self.is_observed.get()) {
            (true, _) => false,
            (false, false) => true,
            (false, true) => {
                (granted == lent || is_planted("permit_granted_is_kept"))
                    && granted.is_some_and(|index| permits.words().observe(index, me.id()))
            }
        };
        if !is_it {
            self.release(me);
        }
        if !is_planted("permit_grant_search_kept") {
            permits.pass_search_on(&me.pool);
        }
        is_it
    }

    /// Gives the permit to whoever wants it.
    fn release(&self, me: &Me) {
        if let Some(index) = self.index.take() {
            let mut open = me.permits().open();
            let grant = open.release(me.id(), index);
            open.hand_over(me.pool.threads().table(), grant);
            me.pool.driver_waiter().hasten_given_up(index);
        }
    }

    /// Whether this thread should come to its loop's bottom: its permit is wanted, or gone.
    pub fn is_recalled(&self, me: &Me) -> bool {
        let Some(index) = self.index.get() else { return true };
        let hold = me.permits().words().get(index);
        !hold.is_by(me.id()) || hold.is_wanted() || me.permits().count(Count::Wanting) > 0
    }

    /// The loop's bottom: nothing on this thread's stack can have kept the index, and whoever wants the permit gets it.
    /// `is_resident`: whether the thread should serve the driver without one.
    #[inline]
    pub fn reach_bottom(&self, me: &Me, is_resident: impl FnOnce() -> bool) {
        let permits = me.permits();
        self.is_observed.set(false);
        match self.role.get() {
            Role::Resumed => {
                let mut open = permits.open();
                let granted = if open.stop_wanting(me.id()) { None } else { me.shared.take_granted() };
                drop(open);
                self.set_role(me, self.plain);
                self.set_index(me, granted);
            }
            // A permit is free again: the usual way.
            Role::Overtaker if permits.count(Count::Free) > 0 && !is_resident() => {
                let index = permits.open().acquire_any(me.id(), me.shared.home());
                if index.is_some() {
                    permits.end_overtaking();
                    self.set_index(me, index);
                }
            }
            Role::Holder | Role::Overtaker | Role::Rescuer | Role::Guest => {}
        }
        match self.index.get().map(|index| permits.words().at_bottom(index, me.id())) {
            Some(AtBottom::Held) if permits.count(Count::Wanting) == 0 => return,
            // What only the holder of a permit may run comes before those that want it: nobody runs it once it is withheld.
            Some(AtBottom::Held | AtBottom::Wanted) if self.has_broadcast(me) => return,
            Some(AtBottom::Held | AtBottom::Wanted) => self.release(me),
            Some(AtBottom::Lost) => self.index.set(None),
            None if self.role.get() == self.plain => {}
            None => return,
        }
        me.hand_in();
    }

    fn has_broadcast(&self, me: &Me) -> bool {
        self.index.get().is_some_and(|index| !me.pool.queues().broadcasts(index).is_empty())
    }

    /// A guest goes, or a thread ends: what it spawned stays, and its permit is free.
    pub fn give_up(&self, me: &Me) {
        me.hand_in();
        self.is_observed.set(false);
        let _ = self.lend(me, Lends::Leaving);
        self.set_role(me, self.plain);
    }
}
