//! Scopes: any number of jobs that may borrow, all over when the scope returns.

use crate::broadcast::BroadcastContext;
use crate::pending::Pending;
use heist_deque::Injector;
use heist_pool::raw::global;
use heist_pool::raw::job::{JobRef, Payload, discard, halt_unwinding, heap_job};
use heist_pool::raw::pool::{Pool, outside_parker, wait_outside};
use heist_pool::raw::process::{Caller, OnBehalf, refuse_wait};
use heist_pool::raw::signal::{Awaited, JobsOf};
use heist_pool::raw::stall;
use heist_pool::raw::worker::{Spawned, Worker};
use heist_sync::atomic::{AtomicPtr, Ordering};
use heist_sync::process::Origin;
use heist_sync::{Arc, Mutex, Parker, lock};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;

/// Spawns jobs that may borrow from outside of the scope; see [`scope`].
///
/// ```
/// fn count<'s>(s: &heist::Scope<'s>, n: &'s std::sync::atomic::AtomicUsize) {
///     s.spawn(|_| drop(n.fetch_add(1, std::sync::atomic::Ordering::Relaxed)));
/// }
/// let n = Default::default();
/// heist::scope(|s| (0..5).for_each(|_| count(s, &n)));
/// assert_eq!(n.into_inner(), 5);
/// ```
pub struct Scope<'scope> {
    base: Base<'scope>,
}

/// As [`Scope`], running what was spawned first first; see [`scope_fifo`].
///
/// ```
/// let order = std::sync::Mutex::new(Vec::new());
/// let pool = heist::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// pool.scope_fifo(|s| {
///     for i in 0..3 {
///         let order = &order;
///         s.spawn_fifo(move |_| order.lock().unwrap().push(i));
///     }
/// });
/// assert_eq!(order.into_inner().unwrap(), [0, 1, 2]);
/// ```
pub struct ScopeFifo<'scope> {
    base: Base<'scope>,
    jobs: Injector<JobRef>,
}

/// What both kinds share. It lies on the stack of the thread that opened the scope; jobs refer to it by address, and each
/// one's last access is to count itself out.
pub struct Base<'scope> {
    pool: Arc<Pool>,
    /// The thread whose stack it lies on.
    opener: Caller,
    /// Jobs that are not over, and one for the body.
    pending: Pending,
    /// The first panic, boxed once more to be a thin pointer.
    panic: AtomicPtr<Payload>,
    /// What else it waits for.
    attached: Mutex<Option<Box<dyn Attached>>>,
    #[allow(clippy::type_complexity)]
    invariant: PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>,
}

/// A scope of either kind.
pub trait AnyScope<'scope> {
    /// What both kinds share.
    fn base(&self) -> &Base<'scope>;
}

impl<'scope> AnyScope<'scope> for Scope<'scope> {
    fn base(&self) -> &Base<'scope> {
        &self.base
    }
}

impl<'scope> AnyScope<'scope> for ScopeFifo<'scope> {
    fn base(&self) -> &Base<'scope> {
        &self.base
    }
}

/// What a scope waits for besides its jobs, and cancels if something in it panics.
pub trait Attached: Any + Send {
    /// Tells all of it to end soon.
    fn cancel(self: Box<Self>);
}

/// An address that a job may carry to another thread.
struct Address<T>(*const T);

// SAFETY: scopes are `Sync`, and a job's scope outlives the job.
unsafe impl<T: Sync> Send for Address<T> {}
// SAFETY: as above; the address itself does not change.
unsafe impl<T: Sync> Sync for Address<T> {}

// Not derived: that would ask the scope to be `Copy`.
impl<T> Clone for Address<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Address<T> {}

impl<T> Address<T> {
    fn pointer(self) -> *const T {
        self.0
    }

    /// # Safety
    /// Only in a job of that scope, before it counts itself out.
    unsafe fn get<'a>(self) -> &'a T {
        // SAFETY: by the caller.
        unsafe { &*self.0 }
    }
}

impl<'scope> Base<'scope> {
    fn new(pool: Arc<Pool>, parker: Arc<Parker>) -> Self {
        Self {
            pool,
            opener: Caller::here(),
            pending: Pending::new(1, parker),
            panic: AtomicPtr::new(std::ptr::null_mut()),
            attached: Mutex::new(None),
            invariant: PhantomData,
        }
    }

    fn tag(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    #[track_caller]
    fn count_in(&self, jobs: usize) {
        self.pool.refuse_if_foreign();
        self.pending.count_in(jobs);
    }

    /// Runs a part of the scope and counts it out. Nothing of the scope may be touched after.
    ///
    /// # Safety
    /// `this` is valid and counts the caller.
    unsafe fn run(this: *const Self, f: impl FnOnce()) {
        // SAFETY: valid until counted out.
        let on_behalf = OnBehalf::of(unsafe { (*this).opener });
        let result = halt_unwinding(f);
        on_behalf.end(result.is_err());
        if let Err(payload) = result {
            // SAFETY: as above.
            let scope = unsafe { &*this };
            scope.keep_panic(payload);
            // In a child process nothing is left that could be cancelled, and the lock may be another thread's.
            if !scope.pool.is_foreign() {
                scope.cancel_attached();
            }
        }
        // SAFETY: as above.
        unsafe { Pending::count_out(&raw const (*this).pending) };
    }

    fn keep_panic(&self, payload: Payload) {
        let boxed = Box::into_raw(Box::new(payload));
        // ORDERING: release the payload to the one that takes it after the wait; the count's ordering would do as well.
        let first =
            self.panic.compare_exchange(std::ptr::null_mut(), boxed, Ordering::Release, Ordering::Relaxed);
        if first.is_err() {
            // SAFETY: ours, from just above.
            discard(*unsafe { Box::from_raw(boxed) });
        }
    }

    /// The body is over: waits for the jobs, and lets a panic go on.
    fn finish<R>(&self, here: Option<&Worker>, since: u64, parker: &Parker, body: impl FnOnce() -> R) -> R {
        let mut result = None;
        // SAFETY: `self` is valid and counts the body.
        unsafe { Self::run(self, || result = Some(body())) };
        match here {
            Some(worker) => {
                let own = Arc::ptr_eq(worker.pool(), &self.pool);
                let jobs = JobsOf { over: self.pending.over(), owner: self.tag() };
                if own {
                    worker.wait(&jobs, &Spawned { owner: self.tag(), since });
                } else {
                    worker.wait(&jobs, &());
                }
            }
            None if self.pool.is_foreign() => {
                if !self.pending.over().is_over() {
                    refuse_wait();
                }
            }
            None => wait_outside(self.pending.over(), parker),
        }
        if !self.pool.is_foreign() {
            self.pending.end();
        }
        let panic = self.panic.swap(std::ptr::null_mut(), Ordering::Acquire);
        if !panic.is_null() {
            // A panic in there would take the place of the one that is to arrive.
            if let Err(second) = halt_unwinding(|| drop(result)) {
                discard(second);
            }
            // SAFETY: put there by `keep_panic`, taken once.
            std::panic::resume_unwind(*unsafe { Box::from_raw(panic) });
        }
        result.expect("a body that did not panic has a result")
    }

    /// Opens a scope on the calling thread, in `pool`.
    fn open<S, R>(
        pool: &Arc<Pool>,
        make: impl FnOnce(Self) -> S,
        base: impl Fn(&S) -> &Self,
        body: impl FnOnce(&S) -> R,
    ) -> R {
        let here = Worker::current();
        let parker = here.map_or_else(outside_parker, |worker| Arc::clone(worker.shared().parker()));
        let since = here.map_or(0, Spawned::position);
        let scope = Opened {
            scope: ManuallyDrop::new(make(Self::new(Arc::clone(pool), Arc::clone(&parker)))),
            origin: Origin::here(),
        };
        base(&scope.scope).finish(here, since, &parker, || body(&scope.scope))
    }

    fn push(&self, job: JobRef) {
        push_in(&self.pool, job);
    }

    fn cancel_attached(&self) {
        let attached = lock(&self.attached).take();
        if let Some(attached) = attached {
            attached.cancel();
        }
    }

    /// Something that is no job is about to be started in the scope's pool: the scope waits until [`detach`](Self::detach) has been
    /// called for it, once, with the address that this gives.
    pub fn attach(&self) -> (&Arc<Pool>, *const ()) {
        self.count_in(1);
        (&self.pool, self.tag())
    }

    /// Keeps what can cancel something that was attached. `keep` runs under a lock.
    pub fn keep_attached<A: Attached + Default>(&self, keep: impl FnOnce(&mut A)) {
        let mut attached = lock(&self.attached);
        let all: &mut dyn Any = &mut **attached.get_or_insert_with(|| Box::new(A::default()));
        keep(all.downcast_mut().expect("one kind of thing is attached to scopes"));
        drop(attached);
        // Somebody has panicked and could not see this one.
        if !self.panic.load(Ordering::Relaxed).is_null() {
            self.cancel_attached();
        }
    }

    /// Something that was attached is over; with a payload if it panicked. Does not unwind.
    ///
    /// # Safety
    /// `scope` is the address that `attach` gave. Once for each, after its last access to anything that is borrowed.
    pub unsafe fn detach(scope: *const (), panic: Option<Payload>) {
        let end = || {
            if let Some(payload) = panic {
                std::panic::resume_unwind(payload);
            }
        };
        // SAFETY: counted until here, so the scope is there.
        unsafe { Base::run(scope.cast::<Base<'static>>(), end) };
    }

    /// A job of this scope for every index.
    ///
    /// # Safety
    /// `call` must be sound on each index until the scope is over.
    #[track_caller]
    fn broadcast(&self, call: impl Fn(BroadcastContext<'_>) + Send + Sync + 'scope) {
        self.pool.refuse_if_foreign();
        let n = self.pool.active();
        self.count_in(n);
        let call = Arc::new(call);
        let base = Address(std::ptr::from_ref(self));
        for index in 0..n {
            let call = Arc::clone(&call);
            let job = move || {
                // SAFETY: counted in above; what `call` borrows outlives the scope.
                unsafe { Base::run(base.pointer(), move || BroadcastContext::with(index, n, |c| call(c))) };
            };
            // SAFETY: `run` does not unwind, and the scope waits for the job.
            let job = unsafe { heap_job(job, self.tag()) };
            self.pending.queue(job, |job| self.pool.inject_for(index, job));
        }
    }
}

/// A scope that is over when this goes. In a child process it is left as it is: another thread may have been in the middle of a change.
struct Opened<S> {
    scope: ManuallyDrop<S>,
    origin: Origin,
}

impl<S> Drop for Opened<S> {
    fn drop(&mut self) {
        if !self.origin.is_foreign() {
            // SAFETY: here only.
            unsafe { ManuallyDrop::drop(&mut self.scope) };
        }
    }
}

/// Says where the job was spawned that the calling thread has begun, if anybody looks.
#[inline]
fn note_site(site: &'static Location<'static>) {
    if stall::is_watched()
        && let Some(worker) = Worker::current()
    {
        worker.shared().note_site(site);
    }
}

/// Where a job spawned on this thread goes.
#[track_caller]
pub(crate) fn push_in(pool: &Arc<Pool>, job: JobRef) {
    match Worker::current_in(pool) {
        Some(worker) => worker.spawn(job),
        None => pool.inject(job),
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns a job that runs at some time before the scope returns.
    ///
    /// ```
    /// let mut words = vec!["b", "a"];
    /// let mut numbers = vec![2, 1];
    /// heist::scope(|s| {
    ///     s.spawn(|_| words.sort());
    ///     s.spawn(|_| numbers.sort());
    /// });
    /// assert_eq!((words, numbers), (vec!["a", "b"], vec![1, 2]));
    /// ```
    ///
    /// # Panics
    /// A panic of the job goes on where the scope was opened, when all its jobs are over.
    #[track_caller]
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.base.count_in(1);
        let (scope, site) = (Address(std::ptr::from_ref(self)), Location::caller());
        let job = move || {
            note_site(site);
            // SAFETY: a job of the scope, before it counts itself out.
            let scope = unsafe { scope.get() };
            // SAFETY: counted in above.
            unsafe { Base::run(&raw const scope.base, || body(scope)) };
        };
        // SAFETY: `run` does not unwind, and the scope waits for the job, so that its borrows hold.
        let job = unsafe { heap_job(job, self.base.tag()) };
        self.base.pending.queue(job, |job| self.base.push(job));
    }

    /// Spawns a job for every index of the pool.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let n = AtomicUsize::new(0);
    /// heist::scope(|s| s.spawn_broadcast(|_, _| { n.fetch_add(1, Ordering::Relaxed); }));
    /// assert_eq!(n.into_inner(), heist::current_num_threads());
    /// ```
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let scope = Address(std::ptr::from_ref(self));
        self.base.broadcast(move |context| {
            // SAFETY: in a job of the scope.
            body(unsafe { scope.get() }, context);
        });
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Spawns a job that runs at some time before the scope returns, after those that were spawned before it.
    ///
    /// ```
    /// let mut n = 0;
    /// heist::scope_fifo(|s| s.spawn_fifo(|_| n += 1));
    /// assert_eq!(n, 1);
    /// ```
    ///
    /// # Panics
    /// As [`Scope::spawn`].
    #[track_caller]
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        /// The thread that takes the ticket runs the oldest job. The ticket's own job or an older one is there: there are as
        /// many jobs as tickets.
        unsafe fn ticket(scope: *const ()) {
            // SAFETY: the scope waits for the job behind the ticket.
            let scope = unsafe { &*scope.cast::<ScopeFifo<'static>>() };
            let job = if scope.base.pool.is_foreign() {
                // A thread that does not exist may have the lock. Then the scope does not end, and says so.
                let Some(job) = scope.jobs.try_pop() else { return };
                job
            } else {
                scope.jobs.pop().expect("a job for each ticket")
            };
            // SAFETY: taken out of the queue, so once.
            unsafe { job.run() };
        }
        self.base.count_in(1);
        let (scope, site) = (Address(std::ptr::from_ref(self)), Location::caller());
        let job = move || {
            note_site(site);
            // SAFETY: a job of the scope, before it counts itself out.
            let scope = unsafe { scope.get() };
            // SAFETY: counted in above.
            unsafe { Base::run(&raw const scope.base, || body(scope)) };
        };
        // SAFETY: `run` does not unwind, and the scope waits for the job, so that its borrows hold.
        let job = unsafe { heap_job(job, self.base.tag()) };
        self.base.pending.queue(job, |job| {
            self.jobs.push(job);
            // SAFETY: the scope is there until as many jobs as tickets have run.
            self.base.push(unsafe { JobRef::new(ticket, std::ptr::from_ref(self).cast(), self.base.tag()) });
        });
    }

    /// Spawns a job for every index of the pool.
    ///
    /// ```
    /// heist::scope_fifo(|s| s.spawn_broadcast(|_, c| assert!(c.index() < c.num_threads())));
    /// ```
    ///
    /// # Panics
    /// As [`Scope::spawn`].
    #[track_caller]
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let scope = Address(std::ptr::from_ref(self));
        self.base.broadcast(move |context| {
            // SAFETY: in a job of the scope.
            body(unsafe { scope.get() }, context);
        });
    }
}

/// Opens a scope: jobs spawned in it may borrow what lives outside of it, and are all over when it returns.
///
/// ```
/// let mut counts = [0; 4];
/// heist::scope(|s| {
///     for (i, count) in counts.iter_mut().enumerate() {
///         s.spawn(move |_| *count = i * i);
///     }
/// });
/// assert_eq!(counts, [0, 1, 4, 9]);
/// ```
///
/// The body runs on a thread of the current pool, or of the global one. On one thread, jobs run newest first.
///
/// # Panics
/// The first panic of body or jobs goes on here, when all jobs are over.
///
/// # Blocking
/// Waits for the jobs. The wait runs this scope's own jobs and nothing else; see [`join`](crate::join).
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    global::install(|| in_place_scope(op))
}

/// As [`scope`], running the oldest job first.
///
/// ```
/// let mut sum = 0;
/// heist::scope_fifo(|s| s.spawn_fifo(|_| sum += 1));
/// assert_eq!(sum, 1);
/// ```
///
/// # Panics
/// As [`scope`].
///
/// # Blocking
/// As [`scope`].
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    global::install(|| in_place_scope_fifo(op))
}

/// As [`scope`], with a body that runs on the calling thread, wherever that is, and need not be `Send`.
///
/// ```
/// let names = std::rc::Rc::new(vec!["x"]);
/// let mut n = 0;
/// heist::in_place_scope(|s| {
///     assert_eq!(names.len(), 1);
///     s.spawn(|_| n += 1);
/// });
/// assert_eq!(n, 1);
/// ```
///
/// # Panics
/// As [`scope`].
///
/// # Blocking
/// As [`scope`].
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    in_place_scope_in(&global::current(), op)
}

/// As [`in_place_scope`], running the oldest job first.
///
/// ```
/// let mut n = 0;
/// heist::in_place_scope_fifo(|s| s.spawn_fifo(|_| n += 1));
/// assert_eq!(n, 1);
/// ```
///
/// # Panics
/// As [`scope`].
///
/// # Blocking
/// As [`scope`].
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    in_place_scope_fifo_in(&global::current(), op)
}

/// [`in_place_scope`] with jobs in a given pool.
pub fn in_place_scope_in<'scope, R>(pool: &Arc<Pool>, op: impl FnOnce(&Scope<'scope>) -> R) -> R {
    Base::open(pool, |base| Scope { base }, |scope| &scope.base, op)
}

/// [`in_place_scope_fifo`] with jobs in a given pool.
pub fn in_place_scope_fifo_in<'scope, R>(pool: &Arc<Pool>, op: impl FnOnce(&ScopeFifo<'scope>) -> R) -> R {
    Base::open(pool, |base| ScopeFifo { base, jobs: Injector::new() }, |scope| &scope.base, op)
}

impl fmt::Debug for Base<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Base").field("pending", &self.pending.count()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("base", &self.base).finish()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").field("base", &self.base).finish_non_exhaustive()
    }
}
