//! The memory of a task: a head that everybody knows, a tail for what few tasks need, and the future, whose place its output
//! takes.

use super::Id;
use super::arena::{self, Class};
use super::ghost::Ghost;
use super::home::{Home, Keep};
use super::state::{Loose, State, Word};
use heist_pool::raw::job::Payload;
use heist_pool::raw::recorder::name;
use heist_pool::raw::task::{Header, Place, TaskRef, Vtable as PoolVtable};
use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::cell::UnsafeCell;
use heist_sync::clock::coarse_ms;
use heist_sync::std_atomic;
use std::alloc::Layout;
use std::future::Future;
use std::mem::{self, ManuallyDrop, MaybeUninit, offset_of};
use std::panic::Location;
use std::ptr::NonNull;
use std::task::Waker;

/// What a task's type decides. It starts with what the pool knows of it.
#[repr(C)]
pub(crate) struct Vtable {
    pool: PoolVtable,
    class: Class,
    /// Where the stage is, or the pointer to it.
    stage: usize,
    /// The stage's layout if it is on the heap: too large for a cell.
    boxed: Option<Layout>,
    /// Of the future's type.
    type_name: fn() -> &'static str,
    name: unsafe fn(Raw) -> Option<&'static str>,
    drop_tail: Option<unsafe fn(Raw)>,
}

/// The first part of every cell.
#[repr(C)]
pub(crate) struct Head {
    /// INVARIANT(R5).
    header: Header,
    pub(super) state: State,
    /// INVARIANT(R4): these three.
    home: Home,
    site: &'static Location<'static>,
    generation: u32,
    /// When the task came into its state; of a waiting one, when its last poll began.
    since_ms: AtomicU32,
    /// INVARIANT(R3).
    pub(super) awaiter: UnsafeCell<MaybeUninit<Waker>>,
    /// What the models know of the cell.
    pub(super) ghost: Ghost,
}

// 128 bytes are promised for a parked task of no size.
const _: () = assert!(size_of::<usize>() != 8 || size_of::<Ghost>() != 0 || size_of::<Head>() == 56);

/// What some tasks have and most have not.
pub(crate) trait Tail {
    /// Whether [`done`](Self::done) is to be called.
    const TELLS: bool = false;

    fn name(&self) -> Option<&str> {
        None
    }

    /// The task has ended; its future is gone and so is its output, unless a handle has it. `orphan` is the payload of a panic
    /// that no handle gets. Must not unwind. `home` is there for the length of the call.
    fn done(&self, home: Home, orphan: Option<Payload>) {
        let _ = (home, orphan);
    }
}

impl Tail for () {}

/// The future, then what it left behind.
pub(super) union Stage<F: Future> {
    pub(super) future: ManuallyDrop<F>,
    pub(super) output: ManuallyDrop<F::Output>,
    pub(super) payload: ManuallyDrop<Payload>,
}

#[repr(C)]
struct Inline<F: Future, X> {
    head: Head,
    tail: X,
    stage: Stage<F>,
}

#[repr(C)]
struct Boxed<F: Future, X> {
    head: Head,
    tail: X,
    stage: *mut Stage<F>,
}

/// A task whose types are known.
pub(super) struct Task<F, X>(F, X);

impl<F: Future, X: Tail> Task<F, X> {
    const IS_BOXED: bool =
        size_of::<Inline<F, X>>() > arena::LARGEST || align_of::<Inline<F, X>>() > arena::ALIGN;

    pub(super) const LAYOUT: Layout =
        if Self::IS_BOXED { Layout::new::<Boxed<F, X>>() } else { Layout::new::<Inline<F, X>>() };

    // A tail's place depends on its own alignment alone, so it is the same in both layouts.
    const TAIL: usize = offset_of!(Boxed<F, X>, tail);

    const STAGE: usize =
        if Self::IS_BOXED { offset_of!(Boxed<F, X>, stage) } else { offset_of!(Inline<F, X>, stage) };

    const VTABLE: &'static Vtable = &Vtable {
        pool: PoolVtable { run: Self::run, name: trace_name, ready_ns: Self::ready_ns },
        type_name: std::any::type_name::<F>,
        class: Class::of(Self::LAYOUT),
        stage: Self::STAGE,
        boxed: if Self::IS_BOXED { Some(Layout::new::<Stage<F>>()) } else { None },
        name: Self::name,
        drop_tail: if mem::needs_drop::<X>() { Some(Self::drop_tail) } else { None },
    };

    /// Makes a task. The word says who has it: the caller must queue it, and make the handles that the word counts.
    #[inline]
    pub(super) fn make(future: F, tail: X, home: Home, site: &'static Location<'static>, word: Word) -> Raw {
        // The pool knows the table by its first field, and the rest is found behind it: `Vtable` is `repr(C)`.
        let table = NonNull::from_ref(Self::VTABLE).cast::<PoolVtable>();
        let cell = arena::take(const { Class::of(Self::LAYOUT) });
        let head = cell.as_ptr();
        // One field at a time: the state of a free cell may be looked at by anybody (R6), and the generation goes on.
        // SAFETY: the arena gave us a cell of our class, so there is room, and nobody else writes to it (R4, R5).
        unsafe {
            (&raw mut (*head).header).write(Header::with_table(table));
            (&raw mut (*head).home).write(home);
            (&raw mut (*head).site).write(site);
            (&raw mut (*head).since_ms).write(AtomicU32::new(coarse_ms()));
            arena::next_generation(&raw mut (*head).generation);
            (&raw mut (*head).ghost).write(Ghost::new());
            (&raw mut (*head).awaiter).write(UnsafeCell::new(MaybeUninit::uninit()));
            head.byte_add(Self::TAIL).cast::<X>().write(tail);
        }
        // SAFETY: inside of the cell.
        let mut stage = unsafe { head.byte_add(Self::STAGE) }.cast::<Stage<F>>();
        if Self::IS_BOXED {
            let boxed = Box::into_raw(Box::<Stage<F>>::new_uninit()).cast::<Stage<F>>();
            // SAFETY: as above.
            unsafe { stage.cast::<*mut Stage<F>>().write(boxed) };
            stage = boxed;
        }
        // SAFETY: nobody else has the stage.
        unsafe { (&raw mut (*stage).future).write(ManuallyDrop::new(future)) };
        // SAFETY: all but the state is initialised, and the state is a free one or, under the checkers, to be written.
        unsafe { arena::begin(&raw mut (*head).state, word) };
        Raw(cell)
    }

    /// # Safety
    /// `task` is of these types.
    #[inline]
    pub(super) unsafe fn stage(task: Raw) -> *mut Stage<F> {
        task.stage().cast()
    }

    /// # Safety
    /// `task` is of these types, and the result is not used for longer than the caller keeps it.
    #[inline]
    pub(super) unsafe fn tail<'a>(task: Raw) -> &'a X {
        // SAFETY: by the caller; written in `make`, dropped when the cell is free.
        unsafe { &*task.as_ptr().byte_add(Self::TAIL).cast::<X>() }
    }

    unsafe fn name(task: Raw) -> Option<&'static str> {
        // SAFETY: by the caller, `Raw::name`, which cuts the lifetime down to its own.
        unsafe { mem::transmute::<Option<&str>, Option<&'static str>>(Self::tail(task).name()) }
    }

    unsafe fn ready_ns(header: NonNull<Header>) -> Option<&'static std_atomic::AtomicU64> {
        arena::beside(header.cast(), true).map(|beside| &beside.ready_ns)
    }

    unsafe fn drop_tail(task: Raw) {
        // SAFETY: called once, by `free`.
        unsafe { task.as_ptr().byte_add(Self::TAIL).cast::<X>().drop_in_place() };
    }
}

/// What a task is called in traces: its name, or else where it was spawned.
unsafe fn trace_name(header: NonNull<Header>) -> u32 {
    let task = Raw::new(header.cast::<Head>());
    task.name().map_or_else(|| name::of_site(task.site), name::number)
}

/// A task's address, with the right to reach all of its cell.
///
/// INVARIANT: whoever uses one keeps the task: it has its `TaskRef`, made it `RUNNING`, or counts in its word; or has just been
/// told that the cell is free and now its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Raw(NonNull<Head>);

impl std::ops::Deref for Raw {
    type Target = Head;

    #[inline]
    fn deref(&self) -> &Head {
        // SAFETY: the cell is kept, so its plain fields do not change (R4).
        let head = unsafe { self.0.as_ref() };
        head.ghost.check_use();
        head
    }
}

impl Raw {
    #[inline]
    pub(super) fn new(head: NonNull<Head>) -> Self {
        Self(head)
    }

    #[inline]
    pub(super) fn as_ptr(self) -> *mut Head {
        self.0.as_ptr()
    }

    #[inline]
    pub(super) fn id(self) -> Id {
        Id::new(arena::place(self.0), self.generation)
    }

    pub(super) fn name(&self) -> Option<&str> {
        // SAFETY: its own table, and the result is borrowed from us, who keep the task.
        unsafe { (self.vtable().name)(*self) }
    }

    /// The name of its future's type.
    pub(super) fn type_name(self) -> &'static str {
        (self.vtable().type_name)()
    }

    /// For reports: the number of the task whose handle it has polled last, and which had not ended.
    pub(super) fn awaits(self) -> Option<u64> {
        let awaits = arena::beside(self.0, false)?.awaits.load(Ordering::Relaxed);
        Some(awaits).filter(|&task| task != 0)
    }

    /// For reports: it has polled the handle of that task, which has not ended.
    #[cold]
    pub(super) fn note_awaits(self, task: Id) {
        if let Some(beside) = arena::beside(self.0, true) {
            beside.awaits.store(task.as_u64(), Ordering::Relaxed);
        }
    }

    /// Where the future is, and later the output or the payload.
    #[inline]
    pub(super) fn stage(self) -> *mut () {
        let vtable = self.vtable();
        // SAFETY: the offset is inside of the cell.
        let stage = unsafe { self.as_ptr().byte_add(vtable.stage) };
        if vtable.boxed.is_some() {
            // SAFETY: there is a pointer, written in `Task::make`.
            unsafe { stage.cast::<*mut ()>().read() }
        } else {
            stage.cast()
        }
    }

    /// The task's one `TaskRef`.
    ///
    /// # Safety
    /// The caller has just made the transition that gives it (I1).
    #[inline]
    unsafe fn task_ref(self) -> TaskRef {
        // SAFETY: the header comes first; it stays while the task is `SCHEDULED`; `run` is right for it by `Task::make`, and
        // the future is `Send`, or whoever made it answers for that.
        unsafe { TaskRef::from_raw(self.0.cast()) }
    }

    /// Queues the task.
    ///
    /// # Safety
    /// The caller has just made the transition that gives the `TaskRef`, and keeps the task's pool by other means.
    #[inline]
    pub(super) unsafe fn schedule(self, place: Place) {
        // SAFETY: by the caller.
        unsafe { self.home.schedule(self.task_ref(), place) };
    }

    /// It waits, is detached, and nobody can wake it any more.
    #[cold]
    pub(super) fn tell_leak(self) {
        crate::stall::leaked(self.id(), self.name(), self.site());
    }

    /// What one who kept the task does after it let go. `keep` is the task's pool: the task may be gone as soon as it is queued,
    /// while the pool is still busy with that.
    ///
    /// # Safety
    /// `loose` is what the transition said.
    #[inline]
    pub(super) unsafe fn settle(self, loose: Loose, keep: &Keep, place: Place) {
        match loose {
            Loose::Nothing => {}
            Loose::Schedule | Loose::Leaked => {
                if loose == Loose::Leaked {
                    self.tell_leak();
                }
                self.stamp();
                // SAFETY: the transition gave it.
                keep.schedule(unsafe { self.task_ref() }, place);
            }
            // SAFETY: the transition said so.
            Loose::Free => unsafe { self.free() },
        }
    }

    /// Gives the cell back.
    ///
    /// # Safety
    /// The caller has just made the transition after which the cell is free.
    pub(super) unsafe fn free(self) {
        let (vtable, home) = (self.vtable(), self.home);
        if let Some(drop_tail) = vtable.drop_tail {
            // SAFETY: its own table; once, since the cell is free once.
            unsafe { drop_tail(self) };
        }
        if let Some(layout) = vtable.boxed
            && layout.size() != 0
        {
            // SAFETY: from a `Box` of this layout in `Task::make`; what was in it has been moved out or dropped.
            unsafe { std::alloc::dealloc(self.stage().cast(), layout) };
        }
        // One of the parent process's is not used again: it is in no list of this one's.
        if !home.is_foreign() {
            // SAFETY: taken in `Task::make`, from this class.
            unsafe { arena::give(self.0, vtable.class) };
        }
        // SAFETY: the cell's own count; nothing of the cell is used any more.
        unsafe { home.release() };
    }
}

impl Head {
    #[inline]
    fn vtable(&self) -> &'static Vtable {
        // SAFETY: every header of ours was made from a `Vtable`, whose first field this is.
        unsafe { self.header.table().cast().as_ref() }
    }

    #[inline]
    pub(super) fn home(&self) -> Home {
        self.home
    }

    pub(super) fn site(&self) -> &'static Location<'static> {
        self.site
    }

    pub(super) fn since_ms(&self) -> u32 {
        self.since_ms.load(Ordering::Relaxed)
    }

    /// From now on.
    #[inline]
    pub(super) fn stamp(&self) {
        // ORDERING: relaxed: for people to read.
        self.since_ms.store(coarse_ms(), Ordering::Relaxed);
    }

    /// Tells the model that the caller has the stage to itself.
    #[inline]
    pub(super) fn touch_stage(&self) {
        self.ghost.touch_stage();
    }
}

#[cfg(all(test, target_pointer_width = "64", not(heist_model)))]
#[path = "cell_tests.rs"]
mod tests;
