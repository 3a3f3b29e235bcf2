//! Models of the fork stack for loom. Each says which bug it hunts; `check/planted.sh` plants those bugs and expects these to
//! fail.
//!
//! Run with `RUSTFLAGS="--cfg heist_model --cfg heist_loom" cargo test -p heist-pool --release --lib loom`.
//!
//! Every model starts from two orders, with the owner first and with a thief first: loom begins with one schedule and
//! reverses pairs of accesses, but overlooks some pairs, and the two starting points make up for each other.

use super::{Care, Floor, Look, Popped, Pushed, Slot, Stack, hot};
use crate::profile::in_models;
use crate::queues::forks::Hot;
use crate::signal::Awaited;
use heist_sync::cell::UnsafeCell;
use heist_sync::{Parker, StdArc as Arc, thread};
use loom::model::Builder;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The half of a fork, with a ledger. loom sees its frame: `given` must have arrived when the job runs (FORK-E1, FORK-E4), and `result`
/// when its owner goes on (FORK-E2).
#[derive(Default)]
struct Job {
    runs: AtomicUsize,
    given: UnsafeCell<usize>,
    result: UnsafeCell<usize>,
    body: Option<Box<dyn Fn() + Send + Sync>>,
}

// SAFETY: loom checks every access to the cells.
unsafe impl Sync for Job {}

const GIVEN: usize = 7;

/// The floor of a thief that has nothing on its stack.
const BOTTOM: Floor = Floor { position: 0, strangers: 0 };

impl Job {
    fn with(body: impl Fn() + Send + Sync + 'static) -> Self {
        Self { body: Some(Box::new(body)), ..Self::default() }
    }

    unsafe fn exec(frame: *mut ()) {
        // SAFETY: the models keep all jobs until their threads are joined.
        unsafe { &*frame.cast::<Self>() }.run();
    }

    fn run(&self) {
        assert_eq!(self.runs.fetch_add(1, Ordering::Relaxed), 0, "a job has run twice");
        // SAFETY: loom checks it.
        let given = self.given.with(|p| unsafe { *p });
        assert_eq!(given, GIVEN);
        if let Some(body) = &self.body {
            body();
        }
        // SAFETY: loom checks it.
        self.result.with_mut(|p| unsafe { *p = given + 1 });
    }

    fn run_unforked(&self) {
        // SAFETY: loom checks it: nobody has the frame.
        self.given.with_mut(|p| unsafe { *p = GIVEN });
        self.run();
    }

    fn has_run(&self) -> bool {
        self.runs.load(Ordering::Relaxed) == 1
    }

    fn frame(&self) -> *mut () {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}

/// A thread that owns a stack, doing what `join` does.
struct Owner {
    stack: Arc<Stack>,
    parker: Arc<Parker>,
    hot: &'static Hot,
    /// Whose stack it may steal back from while it waits,
    thief: Option<Thief>,
    /// by force, if that shares nothing.
    forces: bool,
    /// How many of its halves were measured by those who took them.
    measured: Cell<usize>,
}

impl Owner {
    fn enter(stack: &Arc<Stack>, parker: &Arc<Parker>, begin: Begin) -> Self {
        let owner = Self::here(stack, parker);
        // SAFETY: each model has one owner per stack; nothing is behind the address.
        unsafe { stack.enter(owner.hot, std::ptr::dangling(), begin == Fenced) };
        if begin != Asked {
            owner.nest(&[Job::default()], &|_| ());
        }
        owner
    }

    /// On the thread that has entered.
    fn here(stack: &Arc<Stack>, parker: &Arc<Parker>) -> Self {
        Self {
            stack: stack.clone(),
            parker: parker.clone(),
            hot: hot(),
            thief: None,
            forces: false,
            measured: Cell::new(0),
        }
    }

    fn push(&self, job: &Job) -> *mut Slot {
        // SAFETY: loom checks it: nobody has the frame.
        job.given.with_mut(|p| unsafe { *p = GIVEN });
        let slot = self.hot.head();
        // SAFETY: the job stays until the model ends.
        unsafe { self.hot.push_at(slot, Job::exec, job.frame()) };
        slot
    }

    /// False if the stack was full.
    fn fork(&self, job: &Job) -> (*mut Slot, Pushed) {
        let slot = self.push(job);
        if !self.hot.is_slow_push(slot) {
            return (slot, Pushed::Kept);
        }
        // SAFETY: our own block, and what we have just pushed.
        (slot, unsafe { self.stack.push_slow(self.hot, slot) })
    }

    /// The end of a join: true if the job was the owner's own to run.
    fn join(&self, slot: *mut Slot, job: &Job) -> bool {
        // SAFETY: the models join what they have forked last; our own block.
        let is_slow = unsafe { self.hot.pop_is_slow(slot) };
        // SAFETY: as above.
        let popped = if is_slow { unsafe { self.stack.pop_slow(self.hot, slot) } } else { Popped::Mine };
        let mine = popped != Popped::Stolen;
        if mine {
            job.run();
        } else {
            // SAFETY: our own block, and what we have just popped and found stolen.
            unsafe { self.stack.stand_above(self.hot, slot) };
            let stolen = self.stack.slot_of(slot);
            self.wait(stolen);
            let (is_measured, outcome) = (stolen.state().is_measured(), stolen.take_outcome());
            assert_eq!(outcome.is_some(), is_measured, "what is said to be there is there, and nothing else");
            assert!(outcome.is_none_or(|outcome| in_models::code_of(&outcome) == stolen.code()));
            self.measured.set(self.measured.get() + usize::from(is_measured));
            assert!(stolen.take_outcome().is_none(), "it can be taken twice");
            // SAFETY: as above, and it is done.
            unsafe { self.stack.reset(self.hot, slot) };
        }
        assert!(job.has_run());
        // SAFETY: loom checks it: the result has arrived.
        assert_eq!(job.result.with(|p| unsafe { *p }), GIVEN + 1);
        // SAFETY: loom checks it: the frame goes now, so nobody else may be in it.
        job.given.with_mut(|p| unsafe { *p = 0 });
        // SAFETY: as above.
        job.result.with_mut(|p| unsafe { *p = 0 });
        mine
    }

    /// Runs what the thief has forked for the job in `slot`, and sleeps until that is over.
    fn wait(&self, slot: &Slot) {
        while !slot.state().is_done() {
            if let (Some(thief), Some((_, floor))) = (&self.thief, slot.state().thief()) {
                match thief.stack.steal_back(Care::Full, floor, || !slot.state().is_done()) {
                    Look::Claimed(job) => {
                        if job.run(0, self.stack.floor(self.hot)) {
                            thief.parker.unpark();
                        }
                        continue;
                    }
                    Look::Asked if self.forces && thief.stack.force() => continue,
                    Look::Asked | Look::Lost | Look::Nothing => {}
                }
            }
            if slot.announce_wait() {
                self.parker.park();
            }
        }
    }

    /// Forks all jobs into each other, calls `innermost`, and joins them, newest first.
    fn nest(&self, jobs: &[Job], innermost: &dyn Fn(&Self)) {
        let Some((job, inner)) = jobs.split_first() else { return innermost(self) };
        let (slot, pushed) = self.fork(job);
        if pushed == Pushed::Full {
            job.run();
            return self.nest(inner, innermost);
        }
        self.nest(inner, innermost);
        self.join(slot, job);
    }

    fn leave(self) {
        assert_eq!(self.stack.position(self.hot.head()), 0);
        self.stack.leave(self.hot);
        // FORK-E7: all visitors have gone.
        super::hot::end();
    }
}

/// What a thief does.
#[derive(Clone, Copy)]
enum Theft {
    Steal,
    Ask,
    Force,
}
use Theft::{Ask, Force, Steal};

#[derive(Clone)]
struct Thief {
    stack: Arc<Stack>,
    /// Its owner's.
    parker: Arc<Parker>,
}

impl Thief {
    fn act(&self, thefts: &[Theft]) {
        for theft in thefts {
            match theft {
                Steal => {
                    if let Look::Claimed(job) = self.stack.steal(Care::Full) {
                        if job.run(1, BOTTOM) {
                            self.parker.unpark();
                        }
                    }
                }
                Ask => {
                    let _ = self.stack.arm();
                }
                Force => {
                    self.stack.force();
                }
            }
        }
    }
}

/// Both starting orders, with a bound on preemptions, or a larger one from `LOOM_MAX_PREEMPTIONS`.
fn check(preemptions: usize, model: impl Fn(bool) + Send + Sync + Copy + 'static) {
    let executions = Arc::new(AtomicUsize::new(0));
    for owner_first in [true, false] {
        let mut builder = Builder::new();
        builder.preemption_bound = builder.preemption_bound.max(Some(preemptions));
        builder.max_branches = 20_000;
        let executions = executions.clone();
        builder.check(move || {
            executions.fetch_add(1, Ordering::Relaxed);
            model(owner_first);
        });
    }
    println!("{} executions", executions.load(Ordering::Relaxed));
}

/// Starts the owner and the others from a common line; the first to go is the owner or the first of the others.
fn start(
    owner_first: bool,
    prepare: impl FnOnce() -> Owner + Send + 'static,
    owner: impl FnOnce(&Owner) + Send + 'static,
    others: Vec<Box<dyn FnOnce() + Send>>,
) {
    let finish = |prepared: Owner| {
        owner(&prepared);
        prepared.leave();
    };
    let mut others = others.into_iter();
    if owner_first {
        let prepared = prepare();
        let others: Vec<_> = others.map(thread::spawn).collect();
        finish(prepared);
        others.into_iter().for_each(|t| t.join().unwrap());
    } else {
        let (ready, go) = (Arc::new(Parker::new()), Arc::new(Parker::new()));
        let (is_ready, may_go) = (ready.clone(), go.clone());
        let owner = thread::spawn(move || {
            let prepared = prepare();
            is_ready.unpark();
            may_go.park();
            finish(prepared);
        });
        ready.park();
        let first = others.next().unwrap();
        let others: Vec<_> = others.map(thread::spawn).collect();
        go.unpark();
        first();
        owner.join().unwrap();
        others.into_iter().for_each(|t| t.join().unwrap());
    }
}

/// How the owner's stack is when the race begins.
#[derive(Clone, Copy, PartialEq)]
enum Begin {
    /// As it enters: with an unanswered request, so that the first fork is shared.
    Asked,
    /// Nobody has asked: forks stay private.
    Calm,
    /// As `Calm`, where the process has no asymmetric barrier.
    Fenced,
}
use Begin::{Asked, Calm, Fenced};

/// An owner that forks `jobs` jobs into each other, against one or two thieves.
fn race(owner_first: bool, begin: Begin, jobs: usize, thefts: &[&'static [Theft]]) {
    race_with(owner_first, begin, jobs, &|_| (), thefts);
}

/// As `race`, and when all jobs are forked, the owner calls `innermost`.
fn race_with(
    owner_first: bool,
    begin: Begin,
    jobs: usize,
    innermost: &'static (dyn Fn(&Owner) + Sync),
    thefts: &[&'static [Theft]],
) {
    let (stack, parker) = (Arc::new(Stack::default()), Arc::new(Parker::new()));
    let jobs: Arc<[Job]> = (0..jobs).map(|_| Job::default()).collect();
    let thief = Thief { stack: stack.clone(), parker: parker.clone() };
    let thieves = thefts.iter().map(|&thefts| {
        let thief = thief.clone();
        Box::new(move || thief.act(thefts)) as Box<dyn FnOnce() + Send>
    });
    let forked = jobs.clone();
    start(
        owner_first,
        move || Owner::enter(&stack, &parker, begin),
        move |owner| owner.nest(&forked, innermost),
        thieves.collect(),
    );
    assert!(jobs.iter().all(Job::has_run), "each job exactly once");
}

/// Bugs hunted: one job for two, a result that has not arrived, a wait that is not woken (W1).
#[test]
fn one_fork_against_a_thief() {
    check(3, |first| race(first, Asked, 1, &[&[Steal, Steal]]));
}

/// Bugs hunted: as above, with a stack that is reset below a thief's feet.
#[test]
fn nested_forks_against_a_thief() {
    check(2, |first| race(first, Asked, 2, &[&[Steal, Steal]]));
}

#[test]
fn nested_forks_against_two_thieves() {
    check(2, |first| race(first, Asked, 2, &[&[Steal], &[Steal]]));
}

/// Bug hunted: an answer that shares a job twice or loses it.
#[test]
fn answers_against_a_thief_that_asks() {
    check(3, |first| race(first, Calm, 2, &[&[Ask, Steal]]));
}

/// Bug hunted: half of the shared part is taken back while a thief claims in it.
#[test]
fn taking_back_half_against_a_thief() {
    check(2, |first| {
        let share_all = &|owner: &Owner| assert!(owner.stack.share_all(owner.hot));
        race_with(first, Calm, 3, share_all, &[&[Steal, Steal]]);
    });
}

#[test]
fn taking_back_the_last_against_two_thieves() {
    check(2, |first| {
        // If a thief has asked by the time of the push, the job is shared already.
        let share_all = &|owner: &Owner| {
            owner.stack.share_all(owner.hot);
        };
        race_with(first, Calm, 1, share_all, &[&[Steal], &[Steal]]);
    });
}

/// Bug hunted: an owner that answers between two forks, and shares a job twice or loses it.
#[test]
fn answers_between_forks_against_a_thief_and_a_force() {
    check(2, |first| {
        let answer = &|owner: &Owner| {
            if owner.hot.is_asked() {
                owner.stack.answer(owner.hot);
            }
        };
        race_with(first, Calm, 2, answer, &[&[Steal, Force, Steal]]);
    });
}

/// Bug hunted: a forcing thief that publishes what the owner pops meanwhile, because the pop has no barrier
/// (`fork_pop_no_barrier`).
#[test]
fn force_against_pops() {
    check(3, |first| race(first, Calm, 2, &[&[Force, Steal]]));
}

/// Bug hunted: the same, because the owner restores its bound after it has changed the word (`fork_word_before_bound`).
#[test]
fn force_against_pops_that_answer() {
    check(2, |first| race(first, Calm, 3, &[&[Ask, Force, Steal]]));
}

/// Bug hunted: the same, with a request from a third.
#[test]
fn force_against_pops_and_a_request() {
    check(2, |first| race(first, Calm, 1, &[&[Force, Steal], &[Ask]]));
}

#[test]
fn force_against_nested_pops_and_a_request() {
    check(1, |first| race(first, Calm, 2, &[&[Force, Steal], &[Ask]]));
}

/// Bug hunted: a force against an owner that shares everything by itself and waits.
#[test]
fn force_against_share_all() {
    check(2, |first| {
        let share_all = &|owner: &Owner| {
            owner.stack.share_all(owner.hot);
        };
        race_with(first, Calm, 2, share_all, &[&[Force, Steal]]);
    });
}

/// Bug hunted: a push onto a full stack, published by a forcing thief before the owner takes it back
/// (`fork_force_beyond_the_end`).
#[test]
fn force_against_a_full_stack() {
    check(2, |first| race(first, Calm, super::SLOTS + 1, &[&[Force, Steal, Steal, Steal, Steal, Steal]]));
}

/// Without an asymmetric barrier: every push and pop goes through the slow path.
#[test]
fn fenced_forks_against_a_thief() {
    check(3, |first| race(first, Fenced, 2, &[&[Ask, Steal]]));
}

#[test]
fn fenced_force_against_pops() {
    check(3, |first| race(first, Fenced, 2, &[&[Force, Steal]]));
}

/// Bug hunted: a wake-up that is lost between the owner's announcement and the thief's last access (W1,
/// `fork_done_in_two_steps`).
#[test]
fn a_wait_against_the_end() {
    check(3, |first| {
        let (stack, parker) = (Arc::new(Stack::default()), Arc::new(Parker::new()));
        let thief = {
            let (stack, parker) = (stack.clone(), parker.clone());
            move || {
                stack.slot(0).sign(1, BOTTOM);
                if stack.slot(0).finish() {
                    parker.unpark();
                }
            }
        };
        let owner = |owner: &Owner| owner.wait(owner.stack.slot(0));
        start(first, move || Owner::enter(&stack, &parker, Asked), owner, vec![Box::new(thief)]);
    });
}

/// A profile is taken, and ends between two forks that use one slot. Bug hunted: the owner is told that the thief has left what it has
/// measured before that is there (FORK-E2, `fork_outcome_after_done`), or finds what was left before.
#[test]
fn measured_halves_against_their_owner() {
    static MEASURED: AtomicUsize = AtomicUsize::new(0);
    check(2, |owner_first| {
        in_models::set_on(true);
        let (stack, parker) = (Arc::new(Stack::default()), Arc::new(Parker::new()));
        let thief = Thief { stack: stack.clone(), parker: parker.clone() };
        let owner = |owner: &Owner| {
            owner.nest(&[Job::default()], &|_| ());
            let measured = owner.measured.get();
            MEASURED.fetch_add(measured, Ordering::Relaxed);
            in_models::set_on(false);
            owner.nest(&[Job::default()], &|_| ());
            assert_eq!(owner.measured.get(), measured);
        };
        let steals = Box::new(move || thief.act(&[Steal, Steal]));
        start(owner_first, move || Owner::enter(&stack, &parker, Asked), owner, vec![steals]);
    });
    in_models::set_on(false);
    assert_ne!(MEASURED.load(Ordering::Relaxed), 0, "no thief has taken a half");
}

/// Bug hunted: a thief that finds an owner before it finds what the owner has written in its block.
#[test]
fn entering_against_a_thief() {
    check(3, |owner_first| {
        let (stack, parker) = (Arc::new(Stack::default()), Arc::new(Parker::new()));
        let thief = Thief { stack: stack.clone(), parker: parker.clone() };
        let owner = move || {
            let (owner, jobs) = (Owner::enter(&stack, &parker, Asked), [Job::default()]);
            owner.nest(&jobs, &|_| ());
            owner.leave();
        };
        if owner_first {
            let thief = thread::spawn(move || thief.act(&[Force]));
            owner();
            thief.join().unwrap();
        } else {
            let owner = thread::spawn(owner);
            thief.act(&[Force]);
            owner.join().unwrap();
        }
    });
}

/// Bug hunted: an owner that leaves while a thief is in its block (FORK-E7, `fork_leave_no_fence`).
#[test]
fn leaving_against_a_visit() {
    check(3, |first| {
        let (stack, parker) = (Arc::new(Stack::default()), Arc::new(Parker::new()));
        let visitor = stack.clone();
        let visit = move || {
            let _ = visitor.arm();
        };
        start(first, move || Owner::enter(&stack, &parker, Asked), |_| (), vec![Box::new(visit)]);
    });
}

/// A thread that has stolen from another: it runs that job, and then a stranger's, each of which forks one job.
fn steal_back(owner_first: bool, below: bool) {
    let (stack, parker) = (Arc::new(Stack::default()), Arc::new(Parker::new()));
    let (thief_stack, thief_parker) = (Arc::new(Stack::default()), Arc::new(Parker::new()));
    let thief_thread = Arc::new(std::sync::OnceLock::new());

    // Not a descendant of the stolen job: only its own thread may run it here.
    let only_the_thief = || {
        let thief_thread = thief_thread.clone();
        Job::with(move || {
            assert_eq!(thief_thread.get(), Some(&thread::current().id()), "a wait has run a stranger");
        })
    };
    let strangers: Arc<[Job]> = (0..2).map(|_| only_the_thief()).collect();
    let descendant = Arc::new(Job::default());
    let stolen = {
        let (stack, parker) = (stack.clone(), parker.clone());
        let (thief_stack, thief_parker) = (thief_stack.clone(), thief_parker.clone());
        let (thief_thread, descendant) = (thief_thread.clone(), descendant.clone());
        Arc::new(Job::with(move || {
            let is_stolen = thief_thread.get() == Some(&thread::current().id());
            let here = if is_stolen {
                Owner::here(&thief_stack, &thief_parker)
            } else {
                Owner::here(&stack, &parker)
            };
            let (slot, _) = here.fork(&descendant);
            here.stack.share_all(here.hot);
            here.join(slot, &descendant);
        }))
    };

    let owner = {
        let stolen = stolen.clone();
        move |owner: &Owner| {
            let (slot, _) = owner.fork(&stolen);
            owner.join(slot, &stolen);
        }
    };
    let waiter = Thief { stack: thief_stack.clone(), parker: thief_parker.clone() };
    let prepare = {
        let (stack, parker) = (stack.clone(), parker.clone());
        move || Owner { thief: Some(waiter), ..Owner::enter(&stack, &parker, Asked) }
    };
    let ran = strangers.clone();
    let thief = move || {
        thief_thread.set(thread::current().id()).unwrap();
        let thief = Owner::enter(&thief_stack, &thief_parker, Asked);
        let outer = below.then(|| thief.fork(&strangers[0]));
        if let Look::Claimed(job) = stack.steal(Care::Full) {
            if job.run(1, thief.stack.floor(thief.hot)) {
                parker.unpark();
            }
        }
        let (slot, _) = thief.fork(&strangers[1]);
        thief.stack.share_all(thief.hot);
        thief.join(slot, &strangers[1]);
        if let Some((slot, _)) = outer {
            thief.join(slot, &strangers[0]);
        }
        thief.leave();
    };
    start(owner_first, prepare, owner, vec![Box::new(thief)]);
    assert!(stolen.has_run() && ran[1].has_run() && ran[0].has_run() == below);
}

/// Bug hunted: a waiter that looks while its job runs and claims after it has ended, from the thief's next job
/// (`fork_no_epoch`).
#[test]
fn steal_back_takes_no_stranger_above() {
    check(3, |first| steal_back(first, false));
}

/// Bug hunted: a waiter that takes what the thief had forked before it stole (`fork_no_floor`).
#[test]
fn steal_back_takes_no_stranger_below() {
    check(3, |first| steal_back(first, true));
}

/// How a thief comes to have a stranger's fork above the floor of the job that it has stolen.
#[derive(Clone, Copy, PartialEq)]
enum OnTop {
    /// The stranger is run first, and shares its fork; then the stolen job forks.
    First,
    /// The stolen job has forked and shared by then, and its fork lies below.
    Last,
    /// As `First`, and nothing is shared until the waiter forces it.
    Forced,
}

/// A waiter against a thief that runs a stranger on top of the stolen job, as `yield_now` does in it.
fn stranger_on_top(owner_first: bool, how: OnTop) {
    let (stack, parker) = (Arc::new(Stack::default()), Arc::new(Parker::new()));
    let (thief_stack, thief_parker) = (Arc::new(Stack::default()), Arc::new(Parker::new()));
    // Who has stolen the job, if anybody has.
    let stolen_by = Arc::new(std::sync::OnceLock::new());
    let stranger = {
        let stolen_by = stolen_by.clone();
        Arc::new(Job::with(move || {
            let here = thread::current().id();
            assert!(stolen_by.get().is_none_or(|&thief| thief == here), "a wait has run a stranger");
        }))
    };
    let descendant = Arc::new(Job::default());
    let stolen = {
        let (thief_stack, thief_parker) = (thief_stack.clone(), thief_parker.clone());
        let stolen_by = stolen_by.clone();
        let (descendant, stranger) = (descendant.clone(), stranger.clone());
        Arc::new(Job::with(move || {
            if stolen_by.get().is_none() {
                // Its owner runs it: nobody waits for anything, and nothing is forked that could be stolen instead.
                return [&descendant, &stranger].into_iter().for_each(|job| job.run_unforked());
            }
            let here = Owner::here(&thief_stack, &thief_parker);
            let fork = |job: &Job| {
                let (slot, _) = here.fork(job);
                if how != OnTop::Forced {
                    here.stack.share_all(here.hot);
                }
                slot
            };
            let below = (how == OnTop::Last).then(|| fork(&descendant));
            here.stack.begin_stranger();
            let slot = fork(&stranger);
            here.join(slot, &stranger);
            here.stack.end_stranger();
            let slot = below.unwrap_or_else(|| fork(&descendant));
            here.join(slot, &descendant);
        }))
    };
    let owner = {
        let stolen = stolen.clone();
        move |owner: &Owner| {
            let (slot, _) = owner.fork(&stolen);
            owner.join(slot, &stolen);
        }
    };
    let waiter = Thief { stack: thief_stack.clone(), parker: thief_parker.clone() };
    let prepare = {
        let (stack, parker) = (stack.clone(), parker.clone());
        move || Owner {
            thief: Some(waiter),
            forces: how == OnTop::Forced,
            ..Owner::enter(&stack, &parker, Asked)
        }
    };
    let thief = move || {
        let begin = if how == OnTop::Forced { Calm } else { Asked };
        let thief = Owner::enter(&thief_stack, &thief_parker, begin);
        if let Look::Claimed(job) = stack.steal(Care::Full) {
            stolen_by.set(thread::current().id()).unwrap();
            if job.run(1, thief.stack.floor(thief.hot)) {
                parker.unpark();
            }
        }
        thief.leave();
    };
    start(owner_first, prepare, owner, vec![Box::new(thief)]);
    assert!(stolen.has_run() && stranger.has_run() && descendant.has_run());
}

/// Bugs hunted: a waiter that takes a fork of what `yield_now` has picked up in the stolen half (FORK-E9,
/// `fork_strangers_uncounted`), because it counts the strangers before it looks at the word
/// (`fork_strangers_counted_too_early`).
#[test]
fn steal_back_takes_no_stranger_on_top() {
    check(3, |first| stranger_on_top(first, OnTop::First));
}

/// The same, and the waiter has just taken what lay below.
#[test]
fn steal_back_takes_no_stranger_on_top_of_a_descendant() {
    check(3, |first| stranger_on_top(first, OnTop::Last));
}

/// The same, and the waiter has forced the thief to share.
#[test]
fn steal_back_forces_no_stranger_open_for_itself() {
    check(3, |first| stranger_on_top(first, OnTop::Forced));
}

/// A thread that goes to sleep asks, fences and looks, while the owner pushes.
fn look_before_sleep(owner_first: bool, begin: Begin) {
    let (stack, parker) = (Arc::new(Stack::default()), Arc::new(Parker::new()));
    let seen = Arc::new(AtomicUsize::new(0));
    let sleeper = {
        let (stack, parker, seen) = (stack.clone(), parker.clone(), seen.clone());
        move || {
            let _ = stack.arm();
            heist_sync::barrier::heavy();
            seen.store(usize::from(stack.has_jobs()), Ordering::Relaxed);
            parker.unpark();
        }
    };
    let owner = move |owner: &Owner| {
        let job = Job::default();
        let (slot, pushed) = owner.fork(&job);
        owner.parker.park();
        assert!(
            pushed == Pushed::Shared || seen.load(Ordering::Relaxed) == 1,
            "neither has the push seen the request nor the sleeper the job"
        );
        owner.join(slot, &job);
    };
    start(owner_first, move || Owner::enter(&stack, &parker, begin), owner, vec![Box::new(sleeper)]);
}

/// Bug hunted: a push that misses a request whose asker misses the push (FORK-E6, `fork_push_no_barrier`).
#[test]
fn a_push_sees_the_request_or_is_seen() {
    check(3, |first| look_before_sleep(first, Calm));
}

#[test]
fn a_fenced_push_sees_the_request_or_is_seen() {
    check(3, |first| look_before_sleep(first, Fenced));
}
