//! Joins that take little code: every kind of parallel loop or sort in a program has one of its own, and forks now and then.
//!
//! [`join`](crate::join) is compiled anew for each pair of closures, with all its slow paths, so that a fork costs next to nothing.
//! Here the closures lie behind pointers instead, and what happens around them is compiled once. Such a fork takes a few calls more.

use crate::FnContext;
use crate::join::fork_staying;
use heist_pool::raw::global;
use heist_pool::raw::job::{discard, halt_unwinding};
use heist_pool::raw::process::{Caller, OnBehalf};
use heist_pool::raw::profile;
use heist_pool::raw::worker::Worker;
use std::mem::MaybeUninit;

/// As [`join_context`](crate::join_context).
pub fn join<A, B, RA, RB>(left: A, right: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let (mut left, mut right) = (Call::new(left), Call::new(right));
    fork_anywhere(&mut left, &mut right);
    // SAFETY: both have run.
    unsafe { (left.result.assume_init(), right.result.assume_init()) }
}

/// As [`join`], for a thread of a pool: `left` stays on it, and so need not be `Send`.
///
/// # Panics
/// As [`join`](crate::join), and outside of a pool.
pub fn join_staying<A, B, RA, RB>(left: A, right: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB + Send,
    RB: Send,
{
    let (mut left, mut right) = (Call::new(left), Call::new(right));
    fork(&mut left, &mut right);
    // SAFETY: both have run.
    unsafe { (left.result.assume_init(), right.result.assume_init()) }
}

/// Runs `op`: in the pool of the calling thread, or else in the global one, if it `forks`; just here if not.
pub fn enter<F, R>(forks: bool, op: F) -> R
where
    F: FnOnce(FnContext) -> R + Send,
    R: Send,
{
    let mut op = Call::new(op);
    install(forks, &mut op);
    // SAFETY: it has run.
    unsafe { op.result.assume_init() }
}

/// A closure, and then its result.
struct Call<F, R> {
    closure: MaybeUninit<F>,
    result: MaybeUninit<R>,
}

impl<F, R> Call<F, R> {
    fn new(closure: F) -> Self {
        Call { closure: MaybeUninit::new(closure), result: MaybeUninit::uninit() }
    }
}

/// A [`Call`] whose types are unknown.
trait Callee {
    /// Calls the closure and keeps its result.
    ///
    /// # Safety
    /// Once.
    unsafe fn run(&mut self, is_stolen: bool, on_behalf: OnBehalf);

    /// # Safety
    /// `run` has returned; once.
    unsafe fn drop_result(&mut self);

    /// The address of its `run`, which tells the loops of a program apart in a profile.
    fn code(&self) -> usize;
}

impl<F: FnOnce(FnContext) -> R, R> Callee for Call<F, R> {
    unsafe fn run(&mut self, is_stolen: bool, on_behalf: OnBehalf) {
        // SAFETY: by the caller.
        let closure = unsafe { self.closure.assume_init_read() };
        let result = closure(FnContext::new(is_stolen));
        on_behalf.end(false);
        self.result.write(result);
    }

    unsafe fn drop_result(&mut self) {
        // SAFETY: by the caller.
        unsafe { self.result.assume_init_drop() };
    }

    fn code(&self) -> usize {
        let run: unsafe fn(&mut Self, bool, OnBehalf) = <Self as Callee>::run;
        run as usize
    }
}

/// Runs a loop, or a part of one.
///
/// # Safety
/// As for [`Callee::run`].
unsafe fn run_loop<C: Callee + ?Sized>(callee: &mut C, is_stolen: bool, on_behalf: OnBehalf) {
    let loops = profile::loops();
    // SAFETY: by the caller.
    unsafe { callee.run(is_stolen, on_behalf) };
    if let Some(loops) = loops {
        profile::end_loops(loops);
    }
}

/// A call, and whether it has run.
struct Tracked<'a, C: ?Sized> {
    callee: &'a mut C,
    is_done: bool,
}

impl<'a, C: Callee + ?Sized> Tracked<'a, C> {
    fn new(callee: &'a mut C) -> Self {
        Self { callee, is_done: false }
    }

    /// # Safety
    /// Once.
    unsafe fn run(&mut self, is_stolen: bool, on_behalf: OnBehalf) {
        if is_stolen {
            profile::half_is_of(|| self.callee.code());
        }
        // SAFETY: by the caller.
        unsafe { run_loop(self.callee, is_stolen, on_behalf) };
        self.is_done = true;
    }

    /// Drops the result, if there is one. A panic of its drop is lost: another one goes on.
    fn discard(self) {
        if self.is_done
            // SAFETY: it has run.
            && let Err(payload) = halt_unwinding(|| unsafe { self.callee.drop_result() })
        {
            discard(payload);
        }
    }
}

/// Runs both, which have not run before, `left` on this thread. They have results when this returns, and none if it unwinds.
#[inline(never)]
fn fork(left: &mut dyn Callee, right: &mut (dyn Callee + Send)) {
    let (mut left, mut right) = (Tracked::new(left), Tracked::new(right));
    let caller = Caller::here();
    profile::fork_is_of(|| right.callee.code());
    let both = || {
        fork_staying(
            // SAFETY: here only.
            || unsafe { left.run(false, OnBehalf::of(caller)) },
            // SAFETY: here only.
            |context| unsafe { right.run(context.migrated(), OnBehalf::of(caller)) },
        )
    };
    if let Err(payload) = halt_unwinding(both) {
        left.discard();
        right.discard();
        std::panic::resume_unwind(payload);
    }
}

/// [`fork`], from outside of any pool, too.
#[inline(never)]
fn fork_anywhere(left: &mut (dyn Callee + Send), right: &mut (dyn Callee + Send)) {
    if Worker::current().is_some() {
        fork(left, right);
    } else {
        global::pool().install(|| fork(left, right));
    }
}

/// See [`enter`]. `op` has not run before. It has a result when this returns, and none if it unwinds.
#[inline(never)]
fn install(forks: bool, op: &mut (dyn Callee + Send)) {
    let caller = Caller::here();
    if !forks || Worker::current().is_some() {
        // SAFETY: here, or below.
        unsafe { run_loop(op, false, OnBehalf::of(caller)) };
    } else {
        // SAFETY: here, or above.
        global::pool().install(|| unsafe { run_loop(op, false, OnBehalf::of(caller)) });
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle))))]
mod tests {
    use super::*;
    use heist_sync::std_atomic::{AtomicUsize, Ordering};
    use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

    /// Counts its drops, and panics in them if it is told to.
    struct Counted<'a>(&'a AtomicUsize, bool);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            if self.1 {
                panic_any("a drop");
            }
        }
    }

    fn payload_of(run: impl FnOnce()) -> &'static str {
        *catch_unwind(AssertUnwindSafe(run)).unwrap_err().downcast::<&'static str>().unwrap()
    }

    #[test]
    fn results_come_back_from_inside_and_outside() {
        let both = || join(|_| String::from("left"), |_| vec![1, 2]);
        assert_eq!(both(), ("left".into(), vec![1, 2]));
        for forks in [false, true] {
            assert_eq!(enter(forks, |_| 7), 7);
        }
        assert_eq!(enter(true, |_| both()), ("left".into(), vec![1, 2]));
        // The first half stays on its thread, and so need not be `Send`.
        let staying = enter(true, |_| {
            let here = std::rc::Rc::new(5);
            join_staying(|_| *here, |_| 2)
        });
        assert_eq!(staying, (5, 2));
    }

    #[test]
    fn a_panic_of_one_half_drops_the_result_of_the_other_once() {
        for panics_in_drop in [false, true] {
            let drops = AtomicUsize::new(0);
            let result = || Counted(&drops, panics_in_drop);
            assert_eq!(payload_of(|| drop(join(|_| panic_any("left"), |_| result()))), "left");
            assert_eq!(drops.load(Ordering::Relaxed), 1);
            assert_eq!(payload_of(|| drop(join(|_| result(), |_| panic_any("right")))), "right");
            assert_eq!(drops.load(Ordering::Relaxed), 2);
        }
    }

    #[test]
    fn if_both_panic_the_first_goes_on() {
        assert_eq!(
            payload_of(|| _ = join::<_, _, (), ()>(|_| panic_any("left"), |_| panic_any("right"))),
            "left"
        );
        assert_eq!(payload_of(|| enter(true, |_| panic_any("inside"))), "inside");
    }

    #[test]
    #[should_panic(expected = "for threads of a pool")]
    fn join_staying_is_refused_outside() {
        join_staying(|_| (), |_| ());
    }
}
