//! A value for each thread that runs jobs.

use heist_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use heist_sync::process::PerProcess;
use heist_sync::{Mutex, lock};
use std::cell::Cell;
use std::fmt;

/// One value for each *thread* that uses it, made on first use, all of them reachable when the parallel part is over.
/// A thread that comes after another has ended may go on with that one's value.
///
/// Unlike scratch space kept by [`current_thread_index`](crate::current_thread_index), a value is never seen by another thread
/// while a job that uses it waits: waits do not run strangers, and another thread that borrows the index has a value of its own.
///
/// ```
/// use heist::WorkerLocal;
/// use std::cell::Cell;
///
/// let mut counts = WorkerLocal::new(|| Cell::new(0));
/// heist::scope(|s| {
///     for _ in 0..100 {
///         s.spawn(|_| counts.with(|n| n.set(n.get() + 1)));
///     }
/// });
/// assert_eq!(counts.iter_mut().map(|n| n.get()).sum::<i32>(), 100);
/// ```
pub struct WorkerLocal<T: Send> {
    /// Bucket `k` holds `1 << k` values.
    buckets: [AtomicPtr<Entry<T>>; BUCKETS],
    make: Box<dyn Fn() -> T + Send + Sync>,
}

const BUCKETS: usize = 32;

/// A value's place. Filled once, by the thread whose number it is.
struct Entry<T> {
    value: Cell<Option<Box<T>>>,
}

fn place(n: usize) -> (usize, usize) {
    let k = (n + 1).ilog2() as usize;
    (k, n + 1 - (1 << k))
}

impl<T: Send> WorkerLocal<T> {
    /// A value for each thread, made by `make` on the thread that first needs it.
    ///
    /// ```
    /// let mut seen = heist::WorkerLocal::new(Vec::<u32>::new);
    /// assert_eq!(seen.iter_mut().count(), 0);
    /// ```
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self { buckets: std::array::from_fn(|_| AtomicPtr::default()), make: Box::new(make) }
    }

    /// Calls `f` with the calling thread's value.
    ///
    /// ```
    /// let names = heist::WorkerLocal::new(|| String::from("x"));
    /// assert_eq!(names.with(|n| n.len()), 1);
    /// ```
    ///
    /// # Panics
    /// If making the value panics. Nothing is kept then.
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        let number = Number::of_this_thread();
        let entry = self.entry(number.get());
        // The number is this thread's as long as `number` lives, so nobody else touches the entry.
        let value = match entry.value.take() {
            Some(value) => value,
            None => Box::new((self.make)()),
        };
        let address = std::ptr::from_ref(&*value);
        // It goes back before `f` runs, so that `f` may come here again.
        entry.value.set(Some(value));
        // SAFETY: the box stays where it is until `&mut self` or drop; only shared references are made meanwhile.
        f(unsafe { &*address })
    }

    fn entry(&self, n: usize) -> &Entry<T> {
        let (k, at) = place(n);
        // ORDERING: acquire, with the release below: the entries are made.
        let mut bucket = self.buckets[k].load(Ordering::Acquire);
        if bucket.is_null() {
            let new: Box<[Entry<T>]> = (0..1 << k).map(|_| Entry { value: Cell::new(None) }).collect();
            let new = Box::into_raw(new).cast::<Entry<T>>();
            let null = std::ptr::null_mut();
            match self.buckets[k].compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => bucket = new,
                Err(first) => {
                    // SAFETY: ours, never shared.
                    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(new, 1 << k)) });
                    bucket = first;
                }
            }
        }
        // SAFETY: a bucket has `1 << k` entries and lives as long as `self`.
        unsafe { &*bucket.add(at) }
    }

    /// All values, when nobody uses them.
    ///
    /// ```
    /// let mut sums = heist::WorkerLocal::new(|| std::cell::Cell::new(0));
    /// sums.with(|s| s.set(5));
    /// assert_eq!(sums.iter_mut().map(|s| s.get()).collect::<Vec<_>>(), [5]);
    /// ```
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.buckets.iter_mut().enumerate().flat_map(|(k, bucket)| {
            let bucket = bucket.load(Ordering::Acquire);
            let len = if bucket.is_null() { 0 } else { 1 << k };
            (0..len).filter_map(move |at| {
                // SAFETY: inside the bucket; `&mut self` makes it ours, and each entry is visited once.
                let entry = unsafe { &mut *bucket.add(at) };
                entry.value.get_mut().as_deref_mut()
            })
        })
    }

    /// All values, by value.
    ///
    /// ```
    /// let sums = heist::WorkerLocal::new(|| 3);
    /// sums.with(|_| ());
    /// assert_eq!(sums.into_values(), [3]);
    /// ```
    pub fn into_values(mut self) -> Vec<T> {
        let mut values = Vec::new();
        for (k, bucket) in self.buckets.iter_mut().enumerate() {
            let bucket = bucket.load(Ordering::Acquire);
            let len = if bucket.is_null() { 0 } else { 1 << k };
            for at in 0..len {
                // SAFETY: as in `iter_mut`.
                let entry = unsafe { &mut *bucket.add(at) };
                values.extend(entry.value.take().map(|value| *value));
            }
        }
        values
    }
}

impl<T: Send + Default + 'static> Default for WorkerLocal<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: Send> Drop for WorkerLocal<T> {
    fn drop(&mut self) {
        for (k, bucket) in self.buckets.iter_mut().enumerate() {
            let bucket = bucket.load(Ordering::Acquire);
            if !bucket.is_null() {
                // SAFETY: made as a boxed slice of that length.
                drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(bucket, 1 << k)) });
            }
        }
    }
}

// SAFETY: a value is only ever used by one thread at a time (its own, or the one with `&mut`), and `T: Send`.
unsafe impl<T: Send> Sync for WorkerLocal<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for WorkerLocal<T> {}

impl<T: Send> fmt::Debug for WorkerLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerLocal").finish_non_exhaustive()
    }
}

static NEXT: AtomicUsize = AtomicUsize::new(0);
// In a child process the numbers of the parent's threads stay theirs.
static FREE: PerProcess<Mutex<Vec<usize>>> =
    PerProcess::new(Mutex::new(Vec::new()), || Mutex::new(Vec::new()));

/// A small number that no other living thread has.
struct Number(usize);

impl Number {
    fn new() -> Self {
        let reused = lock(FREE.get()).pop();
        Self(reused.unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    fn of_this_thread() -> Used {
        thread_local! {
            static NUMBER: Number = Number::new();
        }
        NUMBER.try_with(|number| Used::Kept(number.0)).unwrap_or_else(|_| Used::Once(Number::new()))
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        lock(FREE.get()).push(self.0);
    }
}

/// The number under which a thread uses a value.
enum Used {
    /// The thread's own, as long as it lives.
    Kept(usize),
    /// The thread is ending and has given its number back: one for this use.
    Once(Number),
}

impl Used {
    fn get(&self) -> usize {
        match self {
            Self::Kept(number) | Self::Once(Number(number)) => *number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_dense() {
        let mut expected = (0, 0);
        for n in 0..5000 {
            assert_eq!(place(n), expected);
            expected.1 += 1;
            if expected.1 == 1 << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    #[test]
    fn a_thread_sees_its_own_value_also_from_inside() {
        let local = WorkerLocal::new(|| Cell::new(0));
        local.with(|a| {
            a.set(1);
            local.with(|b| assert_eq!(b.get(), 1));
        });
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| local.with(|v| v.set(v.get() + 10)));
            }
        });
        let mut values: Vec<i32> = local.into_values().into_iter().map(|v| v.get()).collect();
        values.sort_unstable();
        assert_eq!(values.iter().sum::<i32>(), 81);
        assert!(values.contains(&1));
    }

    #[test]
    fn values_are_dropped_once() {
        use std::sync::Arc;
        let token = Arc::new(());
        let made = Arc::clone(&token);
        let local = WorkerLocal::new(move || Arc::clone(&made));
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| local.with(|_| ()));
            }
        });
        local.with(|_| ());
        assert!(Arc::strong_count(&token) >= 3);
        drop(local);
        assert_eq!(Arc::strong_count(&token), 1);
    }
}
