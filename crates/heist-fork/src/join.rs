//! `join` and its relatives: one half on the fork stack, the other at once.

use heist_pool::raw::forks::{Exec, Hot, Popped, Pushed, Slot, hot};
use heist_pool::raw::global;
use heist_pool::raw::job::{Payload, discard, halt_unwinding};
use heist_pool::raw::process::{OnBehalf, refuse_wait};
use heist_pool::raw::profile;
use heist_pool::raw::worker::{self, Inherited, Worker};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};

/// What a half of [`join_context`] learns about where it runs.
///
/// ```
/// let (a, b) = heist::join_context(|c| c.migrated(), |_| 2);
/// assert_eq!(b, 2);
/// // The first half always stays on the thread that called join, if that is a thread of the pool.
/// let _ = a;
/// ```
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    not_send: PhantomData<*mut ()>,
}

impl FnContext {
    pub(crate) fn new(migrated: bool) -> Self {
        Self { migrated, not_send: PhantomData }
    }

    /// Whether the half was stolen: it runs on another thread, or ([`yield_local`](crate::yield_local)) was taken from the
    /// stack by its own.
    ///
    /// ```
    /// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// let (_, migrated) = pool.install(|| heist::join_context(|_| (), |c| c.migrated()));
    /// assert!(!migrated, "there is nobody else");
    /// ```
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs both closures, possibly in parallel, and returns both results.
///
/// The first runs at once; the second is meanwhile offered to idle threads, and run here if none took it. From a thread outside of any
/// pool they belong to the global pool: the calling thread is its guest for the time of the call, or waits for a worker if no permit is
/// free.
///
/// ```
/// fn sum(v: &[u64]) -> u64 {
///     if v.len() <= 1000 {
///         return v.iter().sum();
///     }
///     let (left, right) = v.split_at(v.len() / 2);
///     let (a, b) = heist::join(|| sum(left), || sum(right));
///     a + b
/// }
/// let v: Vec<u64> = (0..10_000).collect();
/// assert_eq!(sum(&v), 49_995_000);
/// ```
///
/// # Panics
/// Both closures always run. A panic of either goes on here, after both are over; if both panic, the first's does.
///
/// # Blocking
/// If another thread has the second closure when the first is done, this waits. A wait runs nothing but what that closure
/// has forked; if there is nothing to do it lends its permit to another thread and sleeps. When the wait is over the job goes on at once,
/// unless it has asked for its index: then it waits for the end of a job that has borrowed that index and asked for it, too.
///
/// # Deadlocks
/// Holding a lock across a join is safe: waiting never runs an unrelated job on this stack. Exceptions are pools that can have no spare
/// threads (`ThreadPoolBuilder::spawn_handler`, `max_threads`), and jobs that ask for their index
/// ([`current_thread_index`](crate::current_thread_index)).
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    fork_here(Plain(oper_a), Plain(oper_b))
}

/// As [`join`], with closures that learn whether they were stolen.
///
/// ```
/// let (a, b) = heist::join_context(|_| 1, |c| if c.migrated() { 20 } else { 2 });
/// assert!(a == 1 && (b == 2 || b == 20));
/// ```
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    fork_here(Told(oper_a), Told(oper_b))
}

/// As [`join_context`], for a thread of a pool: `left` stays on it, and so need not be `Send`. `right` is told whether it was stolen.
///
/// # Panics
/// As [`join`], and outside of a pool.
pub(crate) fn fork_staying<RA, RB: Send>(
    left: impl FnOnce() -> RA,
    right: impl FnOnce(FnContext) -> RB + Send,
) -> (RA, RB) {
    // In a child process a loop goes on that has begun in a pool: then one half comes after the other.
    assert!(
        Worker::current().is_some() || worker::orphan_of(hot()).is_some(),
        "this fork is for threads of a pool"
    );
    let (left, right) = fork_here(Staying(left), Told(right));
    (left.0, right)
}

/// One half of a fork, in either of its forms.
pub(crate) trait Half<R>: Send {
    /// Whether its thread may be in no pool. If not, the way into one is not compiled.
    const MAY_BE_OUTSIDE: bool;

    /// On the thread that forked it, whose block is `hot`.
    fn run_here(self, hot: &'static Hot) -> R;
    /// On another thread.
    fn run_stolen(self) -> R;
}

/// A closure without arguments.
struct Plain<F>(F);

impl<R, F: FnOnce() -> R + Send> Half<R> for Plain<F> {
    const MAY_BE_OUTSIDE: bool = true;
    #[inline(always)]
    fn run_here(self, _: &'static Hot) -> R {
        (self.0)()
    }
    fn run_stolen(self) -> R {
        (self.0)()
    }
}

/// A closure that is told whether it was stolen.
struct Told<F>(F);

impl<R, F: FnOnce(FnContext) -> R + Send> Half<R> for Told<F> {
    const MAY_BE_OUTSIDE: bool = true;
    #[inline(always)]
    fn run_here(self, _: &'static Hot) -> R {
        (self.0)(FnContext::new(false))
    }
    fn run_stolen(self) -> R {
        (self.0)(FnContext::new(true))
    }
}

/// A first half that is not `Send`, or its result.
struct Staying<T>(T);

// SAFETY: only `fork_staying` makes one, on a thread of a pool. There the first half runs inside of the call, on the same thread, and
// so its result does not change threads either.
unsafe impl<T> Send for Staying<T> {}

impl<R, F: FnOnce() -> R> Half<Staying<R>> for Staying<F> {
    const MAY_BE_OUTSIDE: bool = false;
    #[inline(always)]
    fn run_here(self, _: &'static Hot) -> Staying<R> {
        Staying((self.0)())
    }
    fn run_stolen(self) -> Staying<R> {
        unreachable!("a first half is never on the fork stack")
    }
}

/// The second half while it lies on the fork stack: the closure, then the result.
struct Frame<B, RB> {
    half: UnsafeCell<ManuallyDrop<B>>,
    result: UnsafeCell<MaybeUninit<Result<RB, Payload>>>,
}

impl<B: Half<RB>, RB: Send> Frame<B, RB> {
    const CALL: Exec = Self::call;
    const DISCARD: Exec = Self::discard;

    #[inline(always)]
    fn new(half: B) -> Self {
        Self {
            half: UnsafeCell::new(ManuallyDrop::new(half)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Run by a thief, or by the owner after the first half's panic. Does not unwind.
    unsafe fn call(this: *mut ()) {
        let this = this.cast::<Self>();
        // SAFETY: the caller has claimed the slot, so the frame is its alone, and the closure has not been taken.
        let half = unsafe { ManuallyDrop::take(&mut *(*this).half.get()) };
        let on_behalf = OnBehalf::elsewhere();
        let result = halt_unwinding(move || half.run_stolen());
        on_behalf.end(result.is_err());
        // SAFETY: as above.
        unsafe { (*(*this).result.get()).write(result) };
    }

    /// Drops the result of `call`, which may panic.
    unsafe fn discard(this: *mut ()) {
        // SAFETY: `call` was over before.
        drop(unsafe { (*this.cast::<Self>()).take_result() });
    }

    #[inline(always)]
    fn as_ptr(&self) -> *mut () {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// # Safety
    /// The slot was popped unstolen, or never pushed; once.
    #[inline(always)]
    unsafe fn take(&self) -> B {
        // SAFETY: by the caller.
        unsafe { ManuallyDrop::take(&mut *self.half.get()) }
    }

    /// # Safety
    /// The slot was stolen and is done; once.
    unsafe fn take_result(&self) -> Result<RB, Payload> {
        // SAFETY: by the caller.
        unsafe { (*self.result.get()).assume_init_read() }
    }
}

/// Where the forking thread's block comes from.
pub(crate) trait Place: Copy {
    fn hot(self) -> &'static Hot;
}

/// From the thread itself. Nothing to carry: the slow paths look it up again, so that no register is kept for them.
#[derive(Clone, Copy)]
struct Here;

impl Place for Here {
    #[inline(always)]
    fn hot(self) -> &'static Hot {
        hot()
    }
}

/// From the caller.
impl Place for &'static Hot {
    #[inline(always)]
    fn hot(self) -> &'static Hot {
        self
    }
}

/// The first half has panicked: the second is still run or waited for, then the panic goes on. The panic has been caught before, so that
/// to the second half's code the thread does not panic. Neither of the two closures in sight: this is compiled once.
///
/// # Safety
/// `slot` was pushed on this thread, and whatever was pushed after it has been popped; or it is null, and `frame` was not pushed. `call`
/// and `discard` are those of `frame`.
#[cold]
#[inline(never)]
unsafe fn finish_second(slot: *mut Slot, frame: *mut (), call: Exec, drop_result: Exec, first: Payload) -> ! {
    // SAFETY: by the caller.
    match unsafe { pop(slot, frame) } {
        Inherited::Mine => {
            // SAFETY: popped, or never pushed; not run before.
            unsafe { call(frame) };
            end_second(frame);
        }
        Inherited::Done => {}
        // It stays where it is.
        Inherited::Lost => std::panic::resume_unwind(first),
    }
    // SAFETY: run here, or stolen and waited for.
    if let Err(payload) = halt_unwinding(|| unsafe { drop_result(frame) }) {
        discard(payload);
    }
    std::panic::resume_unwind(first)
}

/// [`fork_body`] for callers that carry the thread's block.
///
/// Out of line on purpose: inlined into its caller, the landing pad would make the caller save its registers before it even
/// tests for a leaf; this way the compiler inlines the caller's leaf test into here.
#[inline(never)]
pub(crate) fn fork_at<A, B, RA, RB>(hot: &'static Hot, a: A, b: B) -> (RA, RB)
where
    A: Half<RA>,
    B: Half<RB>,
    RA: Send,
    RB: Send,
{
    debug_assert!(
        std::ptr::eq(hot, heist_pool::raw::forks::hot()),
        "a thread's block is used on another thread"
    );
    fork_body(hot, a, b)
}

/// [`fork_body`] for callers that do not know where they are. The look-up is in here because, inlined into a caller's own
/// recursion, it would stay a call.
#[inline(never)]
fn fork_here<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: Half<RA>,
    B: Half<RB>,
    RA: Send,
    RB: Send,
{
    fork_body(Here, a, b)
}

/// The heart of fork-join. The slow paths are calls in tail position, so that nothing but the place, `slot` and the first
/// result has to be kept across a call.
///
/// The top of the stack is read anew at each fork, not passed from fork to fork in a register: that saves nothing (the load
/// is off the critical path), and a caller could bring an old one. Every fork restores it before it returns, on all paths.
#[inline(always)]
fn fork_body<P, A, B, RA, RB>(place: P, a: A, b: B) -> (RA, RB)
where
    P: Place,
    A: Half<RA>,
    B: Half<RB>,
    RA: Send,
    RB: Send,
{
    // SAFETY: of the two, only one is ever used: the copy if the slot is popped on the fast path, else the frame's.
    let copy = unsafe { Copied::of(&b) };
    let frame = Frame::<B, RB>::new(b);
    // SAFETY: the frame stays until the slot is popped, or stolen and done, on every path.
    let slot = unsafe { place.hot().push(Frame::<B, RB>::CALL, frame.as_ptr()) };
    if place.hot().is_slow_push(slot) {
        return fork_slow(a, slot, &frame);
    }
    let ra = run_first(place.hot(), slot, a, &frame);
    // SAFETY: just pushed, and whatever the first half has forked has been popped.
    if unsafe { place.hot().pop_is_slow(slot) } {
        return (ra, second_slow(slot, &frame));
    }
    // SAFETY: popped.
    let b = unsafe { copy.take(&frame) };
    (ra, b.run_here(place.hot()))
}

/// The second half once more, for the fast path. The frame's address has left, so the compiler reads the frame's again after the
/// first half; the copy stays in a register, or if it is the address of something on the stack, is nowhere at all. A half
/// that is larger than a register is not copied.
struct Copied<B>(MaybeUninit<B>);

impl<B> Copied<B> {
    const IS_THERE: bool = size_of::<B>() <= size_of::<usize>();

    /// # Safety
    /// Only one of `half` and what [`take`](Self::take) gives may be used.
    #[inline(always)]
    unsafe fn of(half: &B) -> Self {
        if !Self::IS_THERE {
            return Self(MaybeUninit::uninit());
        }
        // SAFETY: valid, and by the caller.
        Self(MaybeUninit::new(unsafe { std::ptr::read(half) }))
    }

    /// # Safety
    /// The slot was popped unstolen, and the frame's half is not used.
    #[inline(always)]
    unsafe fn take<RB: Send>(self, frame: &Frame<B, RB>) -> B
    where
        B: Half<RB>,
    {
        if Self::IS_THERE {
            // SAFETY: written in `of`.
            unsafe { self.0.assume_init() }
        } else {
            // SAFETY: by the caller.
            unsafe { frame.take() }
        }
    }
}

/// Goes on where the push met its bound. The first half comes first, as in the callers' own arguments: it stays in its register.
#[cold]
#[inline(never)]
fn fork_slow<A, B, RA, RB>(a: A, slot: *mut Slot, frame: &Frame<B, RB>) -> (RA, RB)
where
    A: Half<RA>,
    B: Half<RB>,
    RA: Send,
    RB: Send,
{
    let slot = match push_slow(hot(), slot) {
        PushedSlow::Pushed => slot,
        PushedSlow::Outside if A::MAY_BE_OUTSIDE => {
            // SAFETY: not pushed.
            let b = unsafe { frame.take() };
            return global::pool().install(move || fork_here(a, b));
        }
        // One after the other. Outside of all pools is here only who was in one before the process forked.
        PushedSlow::Full | PushedSlow::Outside => std::ptr::null_mut(),
    };
    let ra = run_first(hot(), slot, a, frame);
    (ra, second_slow(slot, frame))
}

/// The first half, with the second on the stack or nowhere.
#[inline(always)]
fn run_first<A, B, RA, RB>(hot: &'static Hot, slot: *mut Slot, a: A, frame: &Frame<B, RB>) -> RA
where
    A: Half<RA>,
    B: Half<RB>,
    RB: Send,
{
    match halt_unwinding(|| a.run_here(hot)) {
        Ok(ra) => ra,
        // SAFETY: pushed by the caller, or null, and whatever the first half has forked has been popped.
        Err(payload) => unsafe {
            finish_second(slot, frame.as_ptr(), Frame::<B, RB>::CALL, Frame::<B, RB>::DISCARD, payload)
        },
    }
}

/// Goes on where the pop met its bound, or after `fork_slow`.
#[cold]
#[inline(never)]
fn second_slow<B: Half<RB>, RB: Send>(slot: *mut Slot, frame: &Frame<B, RB>) -> RB {
    // SAFETY: pushed by the caller, or null, and whatever the first half has forked has been popped.
    match unsafe { pop(slot, frame.as_ptr()) } {
        Inherited::Mine => {
            // SAFETY: popped, or never pushed.
            let b = unsafe { frame.take() };
            let result = b.run_here(hot());
            end_second(frame.as_ptr());
            return result;
        }
        Inherited::Done => {}
        Inherited::Lost => refuse_wait(),
    }
    // SAFETY: stolen, and waited for.
    match unsafe { frame.take_result() } {
        Ok(result) => result,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// What became of a push that met its bound.
enum PushedSlow {
    Pushed,
    /// The stack is full.
    Full,
    /// The thread is in no pool.
    Outside,
}

#[cold]
#[inline(never)]
fn push_slow(hot: &'static Hot, slot: *mut Slot) -> PushedSlow {
    let Some(worker) = Worker::of(hot) else {
        // SAFETY: the caller has just pushed it.
        unsafe { hot.undo_outside(slot) };
        return PushedSlow::Outside;
    };
    // SAFETY: the caller has just pushed it, and found its bound.
    match unsafe { worker.push_slow(slot) } {
        Pushed::Kept | Pushed::Shared => PushedSlow::Pushed,
        Pushed::Full => PushedSlow::Full,
    }
}

/// The second half, in `frame`, has run on the thread that forked it.
#[cold]
#[inline(never)]
fn end_second(frame: *const ()) {
    profile::end_second(hot(), frame);
}

/// Pops `slot`. If the job is not the caller's, it has been waited for; or it is lost, because the process has forked since it was
/// pushed.
///
/// # Safety
/// `slot` was pushed on this thread, with `frame`, and whatever was pushed after it has been popped; or it is null, and nothing was pushed. A
/// pop that has met its bound may be done again.
#[cold]
#[inline(never)]
unsafe fn pop(slot: *mut Slot, frame: *const ()) -> Inherited {
    let hot = hot();
    let ended = profile::end_first(hot, frame);
    // SAFETY: by the caller.
    if slot.is_null() || !unsafe { hot.pop_is_slow(slot) } {
        if ended.is_some() {
            profile::go_on(hot, ended);
        }
        return Inherited::Mine;
    }
    // SAFETY: just popped, and found its bound.
    let popped = unsafe { pop_slow(hot, slot) };
    if ended.is_some() {
        profile::go_on(hot, None);
    }
    popped
}

/// Goes on with a pop that met its bound.
///
/// # Safety
/// `slot` was popped last on this thread, whose block is `hot`, and the pop has found its bound.
unsafe fn pop_slow(hot: &'static Hot, slot: *mut Slot) -> Inherited {
    let Some(worker) = Worker::of(hot) else {
        // SAFETY: just popped; the thread was in a pool when it was pushed, and has not left it.
        return unsafe { worker::pop_inherited(hot, slot) };
    };
    // SAFETY: just popped, and found its bound.
    match unsafe { worker.pop_slow(slot) } {
        Popped::Mine | Popped::MineAndShared => Inherited::Mine,
        Popped::Stolen => {
            // SAFETY: as it says.
            unsafe { worker.wait_stolen(slot) };
            Inherited::Done
        }
    }
}
