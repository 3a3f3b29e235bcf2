//! Chunks: aligned pieces of memory, each cut into cells of one class.

use super::{ALIGN, Class, SMALLEST};
use crate::task::cell::Head;
use heist_sync::atomic::{AtomicU32, Ordering};
use heist_sync::std_atomic;
use std::alloc::Layout;
use std::ptr::NonNull;

/// A chunk's size and alignment: a cell finds its chunk by its own address.
const CHUNK: usize = 1 << 16;
/// Chunks are asked for in groups, since aligning wastes one each time. Memory that was not touched costs nothing.
const GROUP: usize = 16;
/// Places that a chunk could have at most, so that a cell's place is a shift away from its address.
const PLACES: u32 = (CHUNK / ALIGN) as u32;

/// The head of a chunk.
#[repr(C, align(64))]
pub(super) struct Chunk {
    number: u32,
    class: Class,
    /// How many of its cells have ever been handed out. Grows only, under the depot's lock.
    cut: AtomicU32,
    /// What is kept beside its cells while somebody asks for it; null until somebody does.
    beside: std_atomic::AtomicPtr<[Beside; CHUNK / SMALLEST]>,
}

/// What is kept beside a cell, for those who want to see. There is one for each of the smallest cells, so no two cells have the same.
#[derive(Default)]
pub(in crate::task) struct Beside {
    /// Since when the task is ready; 0 if nobody has looked.
    pub ready_ns: std_atomic::AtomicU64,
    /// The number of the task whose handle it has polled last.
    pub awaits: std_atomic::AtomicU64,
}

/// Memory for more chunks.
pub(super) struct Spring {
    next: *mut u8,
    left: usize,
}

// SAFETY: plain memory that nobody else has.
unsafe impl Send for Spring {}

impl Spring {
    pub(super) const fn new() -> Self {
        Self { next: std::ptr::null_mut(), left: 0 }
    }

    /// A new chunk. It stays for ever.
    pub(super) fn chunk(&mut self, class: Class) -> NonNull<Chunk> {
        if self.left == 0 {
            const LAYOUT: Layout = match Layout::from_size_align((GROUP + 1) * CHUNK, ALIGN) {
                Ok(layout) => layout,
                Err(_) => panic!("a sum of powers of two"),
            };
            // Zeroes, because that is what the words and generations of unused cells are. Aligned by hand: asked for a large
            // alignment, the system's allocator would write those zeroes one by one.
            // SAFETY: the size is not 0.
            let group = unsafe { std::alloc::alloc_zeroed(LAYOUT) };
            if group.is_null() {
                std::alloc::handle_alloc_error(LAYOUT);
            }
            self.next = group.map_addr(|a| a.next_multiple_of(CHUNK));
            self.left = GROUP;
        }
        /// Goes on in a child process, which has chunks of its own beside the parent's.
        static NUMBER: std_atomic::AtomicU32 = std_atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        assert!(number <= u32::MAX / PLACES, "heist: more than 64 GiB of tasks");
        let chunk = self.next.cast::<Chunk>();
        // SAFETY: inside of the group, aligned, and nobody else's.
        unsafe {
            chunk.write(Chunk {
                number,
                class,
                cut: AtomicU32::new(0),
                beside: std_atomic::AtomicPtr::default(),
            })
        };
        self.left -= 1;
        // SAFETY: at most the end of the group.
        self.next = unsafe { self.next.add(CHUNK) };
        // SAFETY: not null: it was written to.
        unsafe { NonNull::new_unchecked(chunk) }
    }
}

/// How many cells of a class a chunk has.
pub(super) const fn capacity(class: Class) -> u32 {
    ((CHUNK - size_of::<Chunk>()) / class.size()) as u32
}

/// # Safety
/// `chunk` is one, and `index` below its capacity.
unsafe fn cell(chunk: NonNull<Chunk>, class: Class, index: u32) -> NonNull<Head> {
    // SAFETY: by the caller, inside of the chunk.
    unsafe { chunk.byte_add(size_of::<Chunk>() + class.size() * index as usize).cast() }
}

/// The next cell that was never used. `None` if all were.
///
/// # Safety
/// `chunk` is one, and the caller has the lock of its depot.
pub(super) unsafe fn cut(chunk: NonNull<Chunk>) -> Option<NonNull<Head>> {
    // SAFETY: by the caller; chunks stay.
    let this = unsafe { chunk.as_ref() };
    let index = this.cut.load(Ordering::Relaxed);
    if index == capacity(this.class) {
        return None;
    }
    // ORDERING: relaxed: the cell's word is 0 until somebody begins a task in it, and what `pin` needs it acquires there.
    this.cut.store(index + 1, Ordering::Relaxed);
    // SAFETY: the index is below the capacity.
    Some(unsafe { cell(chunk, this.class, index) })
}

/// Every cell that was ever used, free ones too.
///
/// # Safety
/// `chunk` is one.
pub(super) unsafe fn cells(chunk: NonNull<Chunk>) -> impl Iterator<Item = NonNull<Head>> {
    // SAFETY: by the caller; chunks stay.
    let this = unsafe { chunk.as_ref() };
    // SAFETY: those below `cut` are below the capacity.
    (0..this.cut.load(Ordering::Relaxed)).map(move |index| unsafe { cell(chunk, this.class, index) })
}

/// What is kept beside `cell`. `makes`: also if nobody has asked for it so far.
pub(in crate::task) fn beside(cell: NonNull<Head>, makes: bool) -> Option<&'static Beside> {
    let chunk = cell.as_ptr().map_addr(|a| a & !(CHUNK - 1)).cast::<Chunk>();
    // SAFETY: a cell lies in a chunk, and that begins there. Chunks stay for ever.
    let beside = unsafe { &(*chunk).beside };
    // ORDERING: acquire, with the release below: the zeroes are there.
    let mut all = beside.load(Ordering::Acquire);
    if all.is_null() && !makes {
        return None;
    }
    if all.is_null() {
        let new = Box::into_raw(Box::new(std::array::from_fn(|_| Beside::default())));
        all = match beside.compare_exchange(all, new, Ordering::Release, Ordering::Acquire) {
            Ok(_) => new,
            Err(theirs) => {
                // SAFETY: just made, and nobody has seen it.
                drop(unsafe { Box::from_raw(new) });
                theirs
            }
        };
    }
    // SAFETY: not null, and it stays as long as its chunk: for ever.
    Some(unsafe { &(&*all)[(cell.as_ptr().addr() & (CHUNK - 1)) / SMALLEST] })
}

/// A number for the place of a cell that no other place has.
#[inline]
pub(in crate::task) fn place(cell: NonNull<Head>) -> u32 {
    let address = cell.as_ptr().addr();
    let chunk = cell.as_ptr().map_addr(|a| a & !(CHUNK - 1)).cast::<Chunk>();
    // SAFETY: a cell lies in a chunk, and that begins there.
    let number = unsafe { (*chunk).number };
    number * PLACES + ((address & (CHUNK - 1)) / ALIGN) as u32
}
