//! A thread's permit: asking for its index, lending it in a wait, going on with or without it, and what happens at the loop's
//! bottom. See the README of `permits`.

use super::Worker;
use super::shared::{Doing, Role};
use crate::permits::{AtBottom, Count, TakeBack};
use heist_os::WokenFor;
use heist_policy as policy;
use heist_sync::clock::Instant;
use heist_sync::planted::is_planted;
use heist_trace::Kind;
use std::cell::Cell;
use std::time::Duration;

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
    /// Until when it sits in the driver without a permit, also if one is free.
    resident_until: Cell<Option<Instant>>,
    /// It is inside of `blocking`.
    is_blocking: Cell<bool>,
    role: Cell<Role>,
    /// The role to go back to: `Guest` for a thread of the program's own.
    plain: Role,
}

impl OwnPermit {
    pub fn new(role: Role) -> Self {
        Self {
            index: Cell::new(None),
            is_observed: Cell::new(false),
            is_lender: Cell::new(false),
            helping: Cell::new(0),
            resident_until: Cell::new(None),
            is_blocking: Cell::new(false),
            role: Cell::new(role),
            plain: if role == Role::Guest { Role::Guest } else { Role::Holder },
        }
    }

    pub fn index(&self) -> Option<u16> {
        self.index.get()
    }

    pub fn role(&self) -> Role {
        self.role.get()
    }

    /// Whether the thread runs without a permit, as far as it knows.
    pub fn is_without(&self) -> bool {
        matches!(self.role.get(), Role::Resumed | Role::Overtaker | Role::Rescuer)
    }

    /// Whether the thread is one of the program's own.
    pub fn is_guest(&self) -> bool {
        self.plain == Role::Guest
    }

    /// How many waits on this stack run others' jobs.
    pub fn helping(&self) -> u32 {
        self.helping.get()
    }

    /// Whether it sleeps in a wait and may have been granted a permit to help with.
    pub fn is_helper(&self) -> bool {
        self.is_lender.get()
    }

    /// Runs others' jobs in the middle of a wait. The index that was observed below is none of theirs, and what is below may be
    /// inside of `blocking`, but they are not.
    pub fn help(&self, run: impl FnOnce()) {
        self.is_lender.set(false);
        self.helping.set(self.helping.get() + 1);
        let was_observed = self.is_observed.replace(false);
        let was_blocking = self.is_blocking.replace(false);
        run();
        self.is_blocking.set(was_blocking);
        self.is_observed.set(was_observed);
        self.helping.set(self.helping.get() - 1);
    }
}

impl Worker {
    pub(super) fn set_index(&self, index: Option<u16>) {
        if let Some(index) = index {
            self.shared.set_home(index);
            if self.permit.role.get() != self.permit.plain {
                self.set_role(self.permit.plain);
            }
        }
        self.permit.index.set(index);
    }

    pub(super) fn set_role(&self, role: Role) {
        self.permit.role.set(role);
        self.shared.set_role(role);
    }

    /// The first permit of a thread that has just come. `is_searcher`: it was started to look for work, and is counted so.
    pub(crate) fn start_with(&self, index: u16, is_searcher: bool) {
        self.set_index(Some(index));
        self.search.is_on.set(is_searcher);
    }

    /// The index of the permit that this thread runs with. From here on it keeps it. Without a permit it waits for one, except
    /// where there is none to be had: inside of `blocking`, and on a thread that runs tasks or rescues jobs without one.
    #[inline]
    pub fn index(&self) -> Option<usize> {
        if self.permit.is_observed.get() {
            return self.permit.index.get().map(usize::from);
        }
        self.observe()
    }

    #[cold]
    fn observe(&self) -> Option<usize> {
        if self.permit.is_blocking.get() || matches!(self.permit.role.get(), Role::Overtaker | Role::Rescuer)
        {
            return None;
        }
        loop {
            if let Some(index) = self.observe_held() {
                return Some(index);
            }
            // A task whose permit was handed on because it blocked has none.
            if self.is_polling() {
                return None;
            }
            self.wait_for_permit();
        }
    }

    /// As [`index`](Self::index), if this thread holds a permit now.
    pub fn observe_held(&self) -> Option<usize> {
        if self.permit.is_blocking.get() {
            return None;
        }
        if self.permit.index.get().is_none()
            && matches!(self.permit.role.get(), Role::Resumed)
            && let Some(index) = self.shared.take_granted()
        {
            self.set_index(Some(index));
        }
        let index = self.permit.index.get()?;
        if !self.permit.is_observed.get() {
            if !self.pool.permits().words().observe(index, self.shared.id()) {
                self.permit.index.set(None);
                self.set_role(Role::Resumed);
                return None;
            }
            self.permit.is_observed.set(true);
        }
        Some(usize::from(index))
    }

    /// Sleeps until this thread, which has none, is granted a permit.
    fn wait_for_permit(&self) {
        self.share_everything();
        let me = self.shared.id();
        let mut open = self.pool.permits().open();
        open.stop_wanting(me);
        let index = match self.shared.take_granted() {
            Some(index) => Some(index),
            None => open.resume(me, self.shared.home()),
        };
        drop(open);
        self.trace(Kind::Block, 0);
        // LIVENESS: we are in the list of those that want a permit. Whoever reaches its job boundary, lends or parks grants it
        // under the lock and then unparks us.
        let index = index.unwrap_or_else(|| {
            loop {
                if let Some(index) = self.shared.take_granted() {
                    break index;
                }
                self.shared.parker().park();
            }
        });
        self.set_index(Some(index));
        self.trace(Kind::Unblock, 0);
    }

    /// Lets others have what is queued here, because this thread will not get to it.
    fn share_everything(&self) {
        self.shared.stack.share_all(self.hot);
        self.spawned.share_all();
        self.share_lifo();
    }

    /// Shares everything and gives the permit away, if this thread has one: returns its index. `may_help`: the thread sleeps, and
    /// can be woken to help where no other thread can be had.
    pub(super) fn lend(&self, may_help: bool) -> Option<u16> {
        self.share_everything();
        let me = self.shared.id();
        let mut open = self.pool.permits().open();
        let mut index = self.permit.index.get();
        if index.is_none() && !open.stop_wanting(me) {
            // One that has just arrived is lent on.
            index = self.shared.take_granted();
        }
        let held = index.filter(|&index| self.pool.permits().words().get(index).is_by(me));
        let grant = held.and_then(|index| open.release(me, index));
        // Inside of `blocking` the permit has been lent before.
        let lent = held.or_else(|| self.permit.is_blocking.get().then(|| self.shared.home()));
        if let Some(index) = lent
            && may_help
        {
            open.wait(me, index);
            self.permit.is_lender.set(true);
        }
        let is_alone =
            self.permit.plain == Role::Guest && open.parked().len() + 1 == self.pool.threads().live();
        open.hand_over(self.pool.threads().table(), grant);
        self.permit.index.set(None);
        if self.permit.role.get() == Role::Overtaker && !self.permit.is_blocking.get() {
            // Another thread runs tasks meanwhile.
            self.pool.permits().end_overtaking();
            self.pool.announce(WokenFor::Task);
        }
        if let Some(index) = held {
            self.shared.set_home(index);
            self.trace(Kind::Lend, u32::from(index));
        }
        // As in `sleep`: a permit is free, and nobody searches for it.
        if lent.is_some() && grant.is_none() && self.pool.permits().ask_and_look(&self.pool, me, is_alone) {
            self.pool.permits().wake_visible(&self.pool);
        }
        held
    }

    /// After a wait, in which the permit `lent` was given away. A thread that has observed it gets it back, from a borrower that has
    /// not observed it at once, else at that one's next job boundary; any other goes on at once, with a permit or without.
    pub(super) fn resume(&self, lent: Option<u16>) {
        let me = self.shared.id();
        let permits = self.pool.permits();
        let mut open = permits.open();
        if self.permit.is_lender.replace(false) && !open.end_wait(me) && !is_planted("permit_grant_forgotten")
        {
            drop(open);
            // Granted to help with at the very moment the wait ended; whatever it was granted for is left to others.
            self.shared.affinity.after_wake();
            let granted = self.shared.take_granted();
            self.set_index(granted);
            // What it ran meanwhile may have left it with another permit than the one that it has observed; and inside of `blocking` it
            // has none.
            let is_it = match (self.permit.is_blocking.get(), self.permit.is_observed.get()) {
                (true, _) => false,
                (false, false) => true,
                (false, true) => {
                    (granted == lent || is_planted("permit_granted_is_kept"))
                        && granted.is_some_and(|index| permits.words().observe(index, me))
                }
            };
            if !is_it && let Some(index) = granted {
                self.permit.index.set(None);
                let mut open = permits.open();
                let grant = open.release(me, index);
                open.hand_over(self.pool.threads().table(), grant);
            }
            if !is_planted("permit_grant_search_kept") {
                self.pass_search_on();
            }
            if is_it {
                return;
            }
            open = permits.open();
        }
        match lent {
            Some(index) if self.permit.is_observed.get() => {
                let back = open.take_back(me, index);
                drop(open);
                if back == TakeBack::Asked {
                    // LIVENESS: the holder, which has observed the index, gives it at its next job boundary and unparks us: where
                    // rayon's wait would have had the holder's job on its own stack.
                    while self.shared.take_granted().is_none() {
                        self.shared.parker().park();
                    }
                }
                self.set_index(Some(index));
                self.trace(Kind::Return, u32::from(index));
            }
            // It goes on without. Inside of `blocking`, the end of that is when it wants a permit again.
            _ if self.permit.is_blocking.get() || self.permit.role.get() == Role::Rescuer => {}
            _ if self.permit.role.get() == Role::Overtaker => open.count_overtaking(),
            _ => {
                let index = open.resume(me, lent.unwrap_or_else(|| self.shared.home()));
                drop(open);
                match index {
                    Some(index) => {
                        self.set_index(Some(index));
                        self.trace(Kind::Return, u32::from(index));
                    }
                    None => self.set_role(Role::Resumed),
                }
            }
        }
    }

    /// This thread stops searching, if it does.
    pub(crate) fn stop_searching(&self) {
        if self.search.is_on.replace(false) {
            self.pass_search_on();
        }
    }

    /// This thread, a searcher, stops searching without having looked: if it was the last, another one is woken.
    pub(super) fn pass_search_on(&self) {
        let counters = self.pool.permits().end_search();
        if policy::on_new_work(counters.view()) == policy::Wake::One {
            self.pool.permits().wake_one(&self.pool, WokenFor::Job);
        }
    }

    /// Whether this thread should come to its loop's bottom: its permit is wanted, or gone.
    pub(super) fn is_recalled(&self) -> bool {
        let Some(index) = self.permit.index.get() else { return true };
        let hold = self.pool.permits().words().get(index);
        !hold.is_by(self.shared.id()) || hold.is_wanted() || self.pool.permits().count(Count::Wanting) > 0
    }

    /// The loop's bottom: nothing on this thread's stack can have kept the index, and whoever wants the permit gets it.
    pub(super) fn reach_bottom(&self) {
        let me = self.shared.id();
        self.permit.is_observed.set(false);
        match self.permit.role.get() {
            Role::Resumed => {
                let mut open = self.pool.permits().open();
                let granted = if open.stop_wanting(me) { None } else { self.shared.take_granted() };
                drop(open);
                self.set_role(self.permit.plain);
                self.set_index(granted);
            }
            // A permit is free again: the usual way.
            Role::Overtaker if self.pool.permits().count(Count::Free) > 0 && !self.is_resident() => {
                let index = self.pool.permits().open().acquire_any(me, self.shared.home());
                if index.is_some() {
                    self.pool.permits().end_overtaking();
                    self.set_index(index);
                }
            }
            _ => {}
        }
        let Some(index) = self.permit.index.get() else {
            if self.permit.role.get() == self.permit.plain {
                self.hand_in();
            }
            return;
        };
        match self.pool.permits().words().at_bottom(index, me) {
            AtBottom::Held if self.pool.permits().count(Count::Wanting) == 0 => return,
            AtBottom::Held | AtBottom::Wanted => {
                let mut open = self.pool.permits().open();
                let grant = open.release(me, index);
                open.hand_over(self.pool.threads().table(), grant);
            }
            AtBottom::Lost => {}
        }
        self.permit.index.set(None);
        self.hand_in();
    }

    /// Whether this thread should serve the driver without a permit: all that hold one compute, or did a moment ago. A program
    /// that computes in bursts would else pay for the monitor's notice at each of them; and a thread that computes itself now and
    /// then does not get a core at once when it wakes up.
    pub(super) fn is_resident(&self) -> bool {
        let permits = self.pool.permits();
        let me = self.shared.id();
        if self.pool.permits().computing(&self.pool).all(|computes| computes) {
            let kept = Duration::from_nanos(policy::tuning::RESIDENT_KEPT_NS);
            if permits.words().settle(me) {
                self.permit.resident_until.set(Some(Instant::now() + kept));
            }
            return true;
        }
        let is_kept = self.permit.resident_until.get().is_some_and(|until| Instant::now() < until);
        if !is_kept {
            self.end_residence();
        }
        is_kept
    }

    /// This thread has something else to do than to sit in the driver.
    pub(super) fn end_residence(&self) {
        if self.permit.resident_until.take().is_some() {
            self.pool.permits().words().move_out(self.shared.id());
        }
    }

    /// Everything that is queued here goes to the injectors: this thread has no permit to run it with.
    pub(super) fn hand_in(&self) {
        while let Some(job) = self.spawned.pop() {
            self.pool.inject(job);
        }
        self.hand_in_tasks();
    }

    /// A guest goes: what it spawned stays, and its permit is free.
    pub(crate) fn give_up(&self) {
        self.hand_in();
        self.permit.is_observed.set(false);
        let _ = self.lend(false);
        self.set_role(self.permit.plain);
    }

    /// Runs `f`, which is expected to block, while another thread has the permit.
    pub fn blocking<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Back<'a> {
            worker: &'a Worker,
            lent: Option<u16>,
            was_observed: bool,
            was_blocking: bool,
            doing: Doing,
        }
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                let permit = &self.worker.permit;
                permit.is_blocking.set(self.was_blocking);
                permit.is_observed.set(self.was_observed);
                self.worker.shared.set_doing(self.doing);
                if !self.was_blocking {
                    self.worker.resume(self.lent);
                }
                self.worker.trace(Kind::Unblock, 0);
            }
        }
        self.trace(Kind::Block, 0);
        let was_blocking = self.permit.is_blocking.get();
        let lent = if was_blocking { None } else { self.lend(false) };
        self.permit.is_blocking.set(true);
        let _back = Back {
            worker: self,
            lent,
            was_observed: self.permit.is_observed.replace(false),
            was_blocking,
            doing: self.shared.set_doing(Doing::Wait),
        };
        f()
    }
}
