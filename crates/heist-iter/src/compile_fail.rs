//! Programs that must not compile, because they would share between threads what may not be shared.
//!
//! Each stands beside one that differs only in that and compiles, so that it cannot fail for another reason.

/// A closure may not capture an `Rc`.
///
/// ```compile_fail,E0277
/// use heist::prelude::*;
/// use std::rc::Rc;
///
/// let shared = Rc::new(1);
/// (0..10).into_par_iter().for_each(|_| { let _ = shared.clone(); });
/// ```
///
/// An `Arc` is fine.
///
/// ```
/// use heist::prelude::*;
/// use std::sync::Arc;
///
/// let shared = Arc::new(1);
/// (0..10).into_par_iter().for_each(|_| { let _ = shared.clone(); });
/// ```
mod captured_rc {}

/// Items must be `Send`: here they are `Rc`s from the source.
///
/// ```compile_fail,E0599
/// use heist::prelude::*;
/// use std::rc::Rc;
///
/// vec![Rc::new(1)].into_par_iter().for_each(drop);
/// ```
///
/// An `Arc` is fine.
///
/// ```
/// use heist::prelude::*;
/// use std::sync::Arc;
///
/// vec![Arc::new(1)].into_par_iter().for_each(drop);
/// ```
mod items_by_value {}

/// Items by reference must be `Sync`: here they are `Cell`s.
///
/// ```compile_fail
/// use heist::prelude::*;
/// use std::cell::Cell;
///
/// [Cell::new(1)].par_iter().for_each(|cell| cell.set(2));
/// ```
///
/// An atomic is.
///
/// ```
/// use heist::prelude::*;
/// use std::sync::atomic::{AtomicI32, Ordering};
///
/// [AtomicI32::new(1)].par_iter().for_each(|cell| cell.store(2, Ordering::Relaxed));
/// ```
mod items_by_reference {}

/// Results must be `Send`, whatever becomes of them.
///
/// ```compile_fail,E0277
/// use heist::prelude::*;
/// use std::rc::Rc;
///
/// (0..10).into_par_iter().map(Rc::new).for_each(drop);
/// ```
///
/// An `Arc` is fine.
///
/// ```
/// use heist::prelude::*;
/// use std::sync::Arc;
///
/// (0..10).into_par_iter().map(Arc::new).for_each(drop);
/// ```
mod map_to_rc {}

/// ```compile_fail,E0277
/// use heist::prelude::*;
/// use std::rc::Rc;
///
/// (0..10).into_par_iter().filter_map(|n| Some(Rc::new(n))).for_each(drop);
/// ```
///
/// An `Arc` is fine.
///
/// ```
/// use heist::prelude::*;
/// use std::sync::Arc;
///
/// (0..10).into_par_iter().filter_map(|n| Some(Arc::new(n))).for_each(drop);
/// ```
mod filter_map_to_rc {}

/// ```compile_fail,E0277
/// use heist::prelude::*;
/// use std::rc::Rc;
///
/// (0..10).into_par_iter().fold(|| Rc::new(0), |sum, _| sum).for_each(drop);
/// ```
///
/// An `Arc` is fine.
///
/// ```
/// use heist::prelude::*;
/// use std::sync::Arc;
///
/// (0..10).into_par_iter().fold(|| Arc::new(0), |sum, _| sum).for_each(drop);
/// ```
mod fold_to_rc {}

/// ```compile_fail,E0277
/// use heist::prelude::*;
/// use std::rc::Rc;
///
/// (0..10).into_par_iter().flat_map_iter(|n| [Rc::new(n)]).for_each(drop);
/// ```
///
/// An `Arc` is fine.
///
/// ```
/// use heist::prelude::*;
/// use std::sync::Arc;
///
/// (0..10).into_par_iter().flat_map_iter(|n| [Arc::new(n)]).for_each(drop);
/// ```
mod flat_map_to_rc {}

/// The value of `map_with` is cloned by one thread and used by another, so it must be `Send`.
///
/// ```compile_fail,E0277
/// use heist::prelude::*;
/// use std::rc::Rc;
///
/// (0..10).into_par_iter().for_each_with(Rc::new(0), |_, _| ());
/// ```
///
/// That of `map_init` is made where it is used, so it need not.
///
/// ```
/// use heist::prelude::*;
/// use std::rc::Rc;
///
/// (0..10).into_par_iter().for_each_init(|| Rc::new(0), |_, _| ());
/// ```
mod map_with_rc {}

/// A predicate may not change what it captures.
///
/// ```compile_fail,E0594
/// use heist::prelude::*;
///
/// let mut last = 0;
/// (0..10).into_par_iter().for_each(|n| last = n);
/// ```
///
/// An atomic is there for that.
///
/// ```
/// use heist::prelude::*;
///
/// use std::sync::atomic::{AtomicI32, Ordering};
/// let last = AtomicI32::new(0);
/// (0..10).into_par_iter().for_each(|n| last.store(n, Ordering::Relaxed));
/// ```
mod captured_mut {}

/// A predicate may not capture a `Cell`.
///
/// ```compile_fail,E0277
/// use heist::prelude::*;
/// use std::cell::Cell;
///
/// let calls = Cell::new(0);
/// (0..10).into_par_iter().find_any(|_| { calls.set(calls.get() + 1); false });
/// ```
///
/// An atomic is fine.
///
/// ```
/// use heist::prelude::*;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let calls = AtomicUsize::new(0);
/// (0..10).into_par_iter().find_any(|_| { calls.fetch_add(1, Ordering::Relaxed); false });
/// ```
mod captured_cell {}

/// Two iterators of unknown length cannot be zipped.
///
/// ```compile_fail,E0599
/// use heist::prelude::*;
///
/// (0..10).into_par_iter().filter(|_| true).zip(0..10).for_each(drop);
/// ```
///
/// Two of known length can.
///
/// ```
/// use heist::prelude::*;
///
/// (0..10).into_par_iter().map(|n| n).zip(0..10).for_each(drop);
/// ```
mod zip_of_unknown_length {}

/// What is mutably borrowed by a loop cannot be read in it.
///
/// ```compile_fail,E0502
/// use heist::prelude::*;
///
/// let mut v = vec![1, 2, 3];
/// v.par_iter_mut().for_each(|n| *n += v.len());
/// ```
///
/// What was read before can be used.
///
/// ```
/// use heist::prelude::*;
///
/// let mut v = vec![1, 2, 3];
/// let len = v.len();
/// v.par_iter_mut().for_each(|n| *n += len);
/// ```
mod borrowed_mutably {}

/// A sequential iterator is handed from thread to thread, so it must be `Send`.
///
/// ```compile_fail,E0599
/// use heist::prelude::*;
/// use std::rc::Rc;
///
/// let shared = Rc::new(1);
/// (0..10).map(move |n| n + *shared).par_bridge().for_each(drop);
/// ```
///
/// With an `Arc` it is.
///
/// ```
/// use heist::prelude::*;
/// use std::sync::Arc;
///
/// let shared = Arc::new(1);
/// (0..10).map(move |n| n + *shared).par_bridge().for_each(drop);
/// ```
mod bridged_rc {}

/// A closure may not capture a raw pointer, of which nobody knows who else has it.
///
/// ```compile_fail,E0277
/// use heist::prelude::*;
///
/// let place = &raw const *"place";
/// (0..10).into_par_iter().for_each(|_| assert!(!place.is_null()));
/// ```
///
/// A reference is fine.
///
/// ```
/// use heist::prelude::*;
///
/// let place = &*"place";
/// (0..10).into_par_iter().for_each(|_| assert!(!place.is_empty()));
/// ```
mod captured_pointer {}
