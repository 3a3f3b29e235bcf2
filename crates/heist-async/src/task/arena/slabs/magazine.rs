//! The free cells that a thread has at hand: per class a batch in use and a full one behind it.

use super::{Batch, Class, SIZES, depot, next, set_next};
use crate::task::cell::Head;
use heist_sync::process;
use heist_sync::std_atomic::{AtomicBool, Ordering};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// Of one class.
struct Magazine {
    /// The batch in use.
    first: Cell<*mut Head>,
    /// How many more it may take: 0 also while the thread has not signed up, or no longer is.
    room: Cell<u32>,
    /// A full batch, or null.
    full: Cell<*mut Head>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Signed {
    NotYet,
    Up,
    Off,
}

/// INVARIANT: without a drop of its own, so that it may be used until the thread's very end; [`SignOff`] empties it.
struct Magazines {
    signed: Cell<Signed>,
    of: [Magazine; SIZES.len()],
}

heist_sync::thread_local! {
    static MAGAZINES: Magazines = const {
        Magazines {
            signed: Cell::new(Signed::NotYet),
            of: [const {
                Magazine { first: Cell::new(ptr::null_mut()), room: Cell::new(0), full: Cell::new(ptr::null_mut()) }
            }; SIZES.len()],
        }
    };
    static SIGN_OFF: SignOff = const { SignOff };
}

/// Brings a thread's free cells back when it ends.
struct SignOff;

impl Drop for SignOff {
    fn drop(&mut self) {
        MAGAZINES.with(|magazines| {
            // Whatever is taken or given after this goes straight to the depot: `room` is 0 and there is no cell.
            magazines.signed.set(Signed::Off);
            for (class, magazine) in (0..).map(Class).zip(&magazines.of) {
                let len = class.batch() - magazine.room.replace(0);
                depot::stow(class, Batch { first: magazine.first.replace(ptr::null_mut()), len });
                depot::stow(
                    class,
                    Batch { first: magazine.full.replace(ptr::null_mut()), len: class.batch() },
                );
            }
        });
    }
}

/// In a child process the calling thread begins without cells: those that it has are in no list of that process's.
fn watch_forks() {
    static IS_WATCHING: AtomicBool = AtomicBool::new(false);
    extern "C" fn forget_cells() {
        MAGAZINES.with(|magazines| {
            for (class, magazine) in (0..).map(Class).zip(&magazines.of) {
                magazine.first.set(ptr::null_mut());
                magazine.full.set(ptr::null_mut());
                magazine.room.set(if magazines.signed.get() == Signed::Up { class.batch() } else { 0 });
            }
        });
    }
    // To be registered twice does no harm.
    if !IS_WATCHING.load(Ordering::Acquire) {
        process::at_fork(forget_cells);
        IS_WATCHING.store(true, Ordering::Release);
    }
}

impl Magazines {
    /// Whether the thread may keep cells.
    fn sign_up(&self) -> bool {
        if self.signed.get() == Signed::NotYet {
            // Fails while the thread's destructors run.
            if SIGN_OFF.try_with(|_| ()).is_err() {
                self.signed.set(Signed::Off);
                return false;
            }
            watch_forks();
            self.signed.set(Signed::Up);
            for (class, magazine) in (0..).map(Class).zip(&self.of) {
                magazine.room.set(class.batch());
            }
        }
        self.signed.get() == Signed::Up
    }

    #[cold]
    #[inline(never)]
    fn take_slow(&self, class: Class) -> NonNull<Head> {
        let magazine = &self.of[usize::from(class.0)];
        let may_keep = self.sign_up();
        let full = magazine.full.replace(ptr::null_mut());
        let batch =
            if full.is_null() { depot::fetch(class) } else { Batch { first: full, len: class.batch() } };
        let cell = NonNull::new(batch.first).expect("a batch has a cell");
        // SAFETY: ours.
        let rest = Batch { first: unsafe { next(cell) }, len: batch.len - 1 };
        if may_keep {
            magazine.first.set(rest.first);
            magazine.room.set(class.batch() - rest.len);
        } else {
            depot::stow(class, rest);
        }
        cell
    }

    #[cold]
    #[inline(never)]
    fn give_slow(&self, cell: NonNull<Head>, class: Class) {
        let magazine = &self.of[usize::from(class.0)];
        let was_signed = self.signed.get() == Signed::Up;
        if !self.sign_up() {
            // SAFETY: ours.
            unsafe { set_next(cell, ptr::null_mut()) };
            depot::stow(class, Batch { first: cell.as_ptr(), len: 1 });
            return;
        }
        if was_signed {
            // The batch in use is full.
            let full = magazine.full.replace(magazine.first.replace(ptr::null_mut()));
            depot::stow(class, Batch { first: full, len: class.batch() });
            magazine.room.set(class.batch());
        }
        magazine.push(cell);
    }
}

impl Magazine {
    #[inline]
    fn push(&self, cell: NonNull<Head>) {
        // SAFETY: the caller's, and now ours.
        unsafe { set_next(cell, self.first.get()) };
        self.first.set(cell.as_ptr());
        self.room.set(self.room.get() - 1);
    }
}

/// A free cell.
#[inline]
pub(in crate::task) fn take(class: Class) -> NonNull<Head> {
    MAGAZINES.with(|magazines| {
        let magazine = &magazines.of[usize::from(class.0)];
        match NonNull::new(magazine.first.get()) {
            Some(cell) => {
                // SAFETY: ours.
                magazine.first.set(unsafe { next(cell) });
                magazine.room.set(magazine.room.get() + 1);
                cell
            }
            None => magazines.take_slow(class),
        }
    })
}

/// Takes a cell back.
///
/// # Safety
/// From [`take`] of the same class, free, and given back once.
#[inline]
pub(in crate::task) unsafe fn give(cell: NonNull<Head>, class: Class) {
    MAGAZINES.with(|magazines| {
        let magazine = &magazines.of[usize::from(class.0)];
        if magazine.room.get() != 0 {
            magazine.push(cell);
        } else {
            magazines.give_slow(cell, class);
        }
    });
}
