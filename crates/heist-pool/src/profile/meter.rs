//! Where the calling thread's strands begin and end: called from slow paths, while a profile is taken.
//!
//! Time-stamps are taken before the frame is touched: an injected clock is the program's code.

use super::clock::stamp;
use super::frame::{Frame, Outcome};
use super::start::{Gathered, Spawn};
use super::sums::Path;
use super::totals;
use crate::queues::forks::{Hot, Slot, hot};
use crate::worker::Worker;
use heist_sync::std_atomic::{AtomicU64, Ordering};
use heist_sync::{Mutex, lock};
use std::fmt;
use std::num::NonZeroU64;

/// The frame of what `hot`'s thread runs now. The caller runs nothing else while it has it.
fn frame<'a>(hot: &Hot) -> Option<&'a mut Frame> {
    // SAFETY: whoever has put it there takes it out before it goes (`Running`). Nothing that is called with it gets to another reference:
    // see the module.
    unsafe { hot.meter().as_mut() }
}

/// The thread's strands belong to `frame` from here on. Returns the one before.
fn set_frame(hot: &Hot, frame: *mut Frame) -> *mut Frame {
    hot.set_meter(frame, Worker::of(hot).map(|worker| worker.shared().stack.end()))
}

/// A frame that is its thread's present one until it is ended.
#[must_use = "it has to be ended"]
pub(super) struct Running {
    outer: *mut Frame,
    /// The outer one had a strand, which goes on after.
    is_on_top: bool,
    hot: &'static Hot,
}

impl Running {
    /// # Safety
    /// `frame` stays, and is used by nobody else, until [`end`](Self::end), which is called on this thread.
    pub unsafe fn begin(inner: *mut Frame) -> Self {
        let hot = hot();
        let now = stamp();
        let is_on_top = frame(hot).is_some_and(|outer| outer.pause(now));
        let outer = set_frame(hot, inner);
        go_on(hot, None);
        Self { outer, is_on_top, hot }
    }

    /// Its strand ends, and that of the outer one goes on.
    pub fn end(self) {
        let now = stamp();
        if let Some(inner) = frame(self.hot) {
            inner.pause(now);
        }
        set_frame(self.hot, self.outer);
        if self.is_on_top {
            go_on(self.hot, None);
        }
    }
}

/// A frame for a job, which has not begun.
pub(super) fn new_frame(code: usize) -> Frame {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Frame::new(code, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Runs a job, which must not unwind, and measures it. `code` is that of the fork whose half it is, 0 if it is none.
pub(crate) fn measured(code: usize, run: impl FnOnce()) -> Outcome {
    let mut frame = new_frame(code);
    // SAFETY: ended below; `run` does not unwind.
    let running = unsafe { Running::begin(&raw mut frame) };
    run();
    running.end();
    frame.end()
}

/// What a thread finds in a queue and runs; it belongs to nothing that is measured on this thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Root {
    /// A job of whomever, perhaps of a scope: then it is measured once more, for that scope.
    Job,
    /// A poll of a task.
    Poll,
    /// A run of a tick.
    Tick,
}

/// Runs it. It must not unwind.
#[cold]
#[inline(never)]
pub(crate) fn run_root(root: Root, run: &mut dyn FnMut()) {
    let outcome = measured(0, run);
    totals::add_root(root, &outcome);
}

/// A fork was pushed into `slot`: the strand ended at `ended`, and that of the first half begins.
#[cold]
pub(crate) fn forked(hot: &Hot, slot: &Slot, ended: u64, has_shared: bool) {
    let begun = if has_shared { stamp() } else { ended };
    if let Some(frame) = frame(hot) {
        frame.fork(slot.frame(), slot.code(), ended, begun);
    }
}

/// The next fork of the calling thread is one of `code`: what lies in its slot is what many kinds of forks have in common.
pub fn fork_is_of(code: impl FnOnce() -> usize) {
    let hot = hot();
    if hot.is_metered()
        && let Some(frame) = frame(hot)
    {
        frame.fork_is_of(code());
    }
}

/// The stolen half that the calling thread has begun is one of `code`, as in [`fork_is_of`].
pub fn half_is_of(code: impl FnOnce() -> usize) {
    let hot = hot();
    if hot.is_metered()
        && let Some(frame) = frame(hot)
    {
        frame.half_is_of(code());
    }
}

/// When the strand ends, if the thread's strands are measured.
#[inline]
pub(crate) fn now_if_metered(hot: &Hot) -> Option<u64> {
    hot.is_metered().then(stamp)
}

/// The first half of the fork whose second is in `fork` has ended. The second does not begin before [`go_on`].
///
/// This and the following do nothing where nothing is measured, and with a fork that was not.
pub fn end_first(hot: &Hot, fork: *const ()) -> Option<u64> {
    if !hot.is_metered() {
        return None;
    }
    let now = stamp();
    frame(hot)?.end_first(fork.addr(), now);
    Some(now)
}

/// The strand after [`end_first`] begins: at `at`, or now.
pub fn go_on(hot: &Hot, at: Option<u64>) {
    if hot.is_metered() {
        let now = at.unwrap_or_else(stamp);
        if let Some(frame) = frame(hot) {
            frame.resume(now);
        }
    }
}

/// The second half of the fork has ended, on the thread that forked it.
pub fn end_second(hot: &Hot, fork: *const ()) {
    if hot.is_metered() {
        let now = stamp();
        if let Some(frame) = frame(hot) {
            frame.end_second(fork.addr(), now);
        }
    }
}

/// The second half of the fork in `slot` has ended on another thread.
pub(crate) fn end_stolen(hot: &Hot, slot: &Slot, outcome: &Outcome) {
    if let Some(frame) = frame(hot) {
        frame.end_stolen(slot.frame(), outcome);
    }
}

/// Something that the thread has waited for has ended elsewhere.
pub(crate) fn append(outcome: &Outcome) {
    if let Some(frame) = frame(hot()) {
        frame.append(outcome);
    }
}

/// The thread waits until this is dropped: no strand runs meanwhile.
#[must_use]
pub(crate) struct Pause {
    /// When it began.
    since: Option<u64>,
    /// Whether the wait is a part of the path.
    is_on_path: bool,
}

impl Pause {
    #[inline]
    pub fn begin(is_on_path: bool) -> Self {
        let hot = hot();
        let since = if hot.is_metered() { Self::begin_metered(hot) } else { None };
        Self { since, is_on_path }
    }

    #[cold]
    fn begin_metered(hot: &Hot) -> Option<u64> {
        let now = stamp();
        frame(hot)?.pause(now).then_some(now)
    }

    #[cold]
    fn end(&self, since: u64) {
        let now = stamp();
        if let Some(frame) = frame(hot()) {
            if self.is_on_path {
                frame.sleep(now.saturating_sub(since));
            }
            frame.resume(now);
        }
    }
}

impl Drop for Pause {
    #[inline]
    fn drop(&mut self) {
        if let Some(since) = self.since {
            self.end(since);
        }
    }
}

/// Spawns a job by `queue`, which is given what is needed to measure it. To queue it, and perhaps to wake a thread for it, is in no strand.
#[cold]
pub fn spawn(queue: &mut dyn FnMut(Spawn)) {
    let now = stamp();
    let hot = hot();
    let (spawn, had_strand) = match frame(hot) {
        Some(frame) => frame.spawn(now),
        None => (Spawn { from: Default::default(), at: Path::default() }, false),
    };
    queue(spawn);
    if had_strand {
        go_on(hot, None);
    }
}

/// What the jobs of a scope, or the calls of a broadcast, have come to.
pub struct Gather(Mutex<Option<Box<Gathered>>>);

// Not derived: the checkers' mutexes have no `Default`.
impl Default for Gather {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl fmt::Debug for Gather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather").finish_non_exhaustive()
    }
}

impl Gather {
    /// Runs a spawned job, which must not unwind, and keeps what it came to.
    ///
    /// # Safety
    /// `this` is there when `run` has returned.
    pub unsafe fn run(this: *const Self, spawn: Spawn, run: &mut dyn FnMut()) {
        let mut frame = new_frame(0);
        frame.begin_at(&spawn);
        // SAFETY: ended below; `run` does not unwind.
        let running = unsafe { Running::begin(&raw mut frame) };
        run();
        running.end();
        let outcome = frame.end();
        // SAFETY: by the caller.
        let gathered = unsafe { &(*this).0 };
        lock(gathered).get_or_insert_default().add(spawn, &outcome.sums, outcome.path);
    }

    /// All jobs have ended, and the thread that has waited for them goes on.
    pub fn end(&self) {
        let gathered = lock(&self.0).take();
        if let Some(gathered) = gathered {
            match frame(hot()) {
                Some(frame) => frame.gather(&gathered),
                None => totals::add_gathered(&gathered),
            }
        }
    }
}

/// A loop whose blocks one thread runs: one of them could run beside the other.
#[derive(Clone, Copy, Default, Debug)]
pub struct Blocks(Option<NonZeroU64>);

impl Blocks {
    /// A block begins.
    #[inline]
    pub fn begin(&mut self) {
        if hot().is_metered() {
            self.begin_metered();
        }
    }

    #[cold]
    fn begin_metered(&mut self) {
        let now = stamp();
        self.0 = frame(hot()).map(|frame| frame.begin_block(self.0, now));
    }

    /// It ends.
    #[inline]
    pub fn end(&self) {
        if let Some(number) = self.0 {
            Self::end_metered(number);
        }
    }

    #[cold]
    fn end_metered(number: NonZeroU64) {
        let now = stamp();
        if let Some(frame) = frame(hot()) {
            frame.end_block(number, now);
        }
    }
}

/// How many loops the calling thread is in, for [`end_loops`].
#[inline]
pub fn loops() -> Option<usize> {
    let hot = hot();
    if hot.is_metered() { frame(hot).map(|frame| frame.loops()) } else { None }
}

/// The loops have ended that began since [`loops`] has given `before`.
pub fn end_loops(before: usize) {
    let now = stamp();
    if let Some(frame) = frame(hot()) {
        frame.end_loops(before, now);
    }
}

/// A part of the program with a name, until it is dropped: see `heist::profile::region`.
#[derive(Debug)]
pub struct Region {
    /// Whose it is, and how far that had come; `None` if nothing was measured.
    begun: Option<(u64, u64, Path)>,
    name: &'static str,
    /// It ends on the thread on which it began.
    not_send: std::marker::PhantomData<*mut ()>,
}

impl Region {
    /// It begins.
    #[inline]
    pub fn begin(name: &'static str) -> Self {
        let begun = if hot().is_metered() { Self::so_far() } else { None };
        Self { begun, name, not_send: std::marker::PhantomData }
    }

    #[cold]
    fn so_far() -> Option<(u64, u64, Path)> {
        let now = stamp();
        let frame = frame(hot())?;
        frame.cut(now);
        let (work, path) = frame.so_far();
        Some((frame.number(), work, path))
    }

    #[cold]
    fn end(&self, (number, work, path): (u64, u64, Path)) {
        let Some((now_number, work_now, path_now)) = Self::so_far() else { return };
        // Another frame's, if the guard was kept for longer than what was measured.
        if number == now_number
            && let Some(frame) = frame(hot())
        {
            let part = frame.sums().part(self.name);
            part.times += 1;
            part.work += work_now - work;
            // In another block of a loop, or another half, the path may be shorter.
            part.path = part.path.then(Path {
                span: path_now.span.saturating_sub(path.span),
                burdened: path_now.burdened.saturating_sub(path.burdened),
            });
        }
    }
}

impl Drop for Region {
    #[inline]
    fn drop(&mut self) {
        if let Some(begun) = self.begun {
            self.end(begun);
        }
    }
}
