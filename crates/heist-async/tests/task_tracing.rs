//! Feature `tracing`: a task is polled inside of the span in which it was spawned, on whatever thread, and so is everything else
//! that was started there.

use heist_async::{block_on, task};
use std::sync::{Mutex, mpsc};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

std::thread_local! {
    static ENTERED: std::cell::RefCell<Vec<u64>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Knows the span that each thread is in, and notes it at each event.
struct Notes {
    metadata: Mutex<Vec<&'static Metadata<'static>>>,
    seen: &'static Mutex<Vec<Option<u64>>>,
}

impl Subscriber for Notes {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut metadata = self.metadata.lock().unwrap();
        metadata.push(span.metadata());
        Id::from_u64(metadata.len() as u64)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {
        self.seen.lock().unwrap().push(ENTERED.with(|all| all.borrow().last().copied()));
    }
    fn enter(&self, span: &Id) {
        ENTERED.with(|all| all.borrow_mut().push(span.into_u64()));
    }
    fn exit(&self, _: &Id) {
        ENTERED.with(|all| all.borrow_mut().pop());
    }
    fn current_span(&self) -> Current {
        match ENTERED.with(|all| all.borrow().last().copied()) {
            Some(id) => Current::new(Id::from_u64(id), self.metadata.lock().unwrap()[id as usize - 1]),
            None => Current::none(),
        }
    }
}

#[test]
fn spans_follow_the_task() {
    static SEEN: Mutex<Vec<Option<u64>>> = Mutex::new(Vec::new());
    tracing::subscriber::set_global_default(Notes { metadata: Mutex::new(Vec::new()), seen: &SEEN }).unwrap();
    let outer = tracing::info_span!("outer");
    let span = outer.id().map(|id| id.into_u64());
    assert!(span.is_some());
    let seen = || std::mem::take(&mut *SEEN.lock().unwrap());
    let thrice = || async {
        for _ in 0..3 {
            tracing::info!("inside");
            task::yield_now().await;
        }
    };
    let once = || tracing::info!("inside");

    block_on(outer.in_scope(|| task::spawn(thrice()))).unwrap();
    assert_eq!(seen(), [span; 3]);
    block_on(task::spawn(async { tracing::info!("no span") })).unwrap();
    assert_eq!(seen(), [None]);

    outer.in_scope(|| spawn_scoped(thrice())).recv().unwrap();
    assert_eq!(seen(), [span; 3]);

    let make = move || {
        once();
        thrice()
    };
    block_on(outer.in_scope(|| task::spawn_pinned(make)).unwrap()).unwrap();
    assert_eq!(seen(), [span; 4]);
    block_on(task::spawn_pinned(thrice).unwrap()).unwrap();
    assert_eq!(seen(), [None; 3]);

    block_on(outer.in_scope(|| task::compute(once)));
    assert_eq!(seen(), [span]);
    block_on(task::compute(once));
    assert_eq!(seen(), [None]);

    block_on(outer.in_scope(|| task::spawn_blocking(once))).unwrap();
    assert_eq!(seen(), [span]);
    block_on(task::spawn_blocking(once)).unwrap();
    assert_eq!(seen(), [None]);
}

/// As a scope does it. The receiver hears of the end.
fn spawn_scoped(future: impl Future<Output = ()> + Send + 'static) -> mpsc::Receiver<()> {
    unsafe fn done(data: *const (), _: Option<heist_pool::raw::job::Payload>) {
        // SAFETY: from the box below, and called once.
        let end = unsafe { Box::from_raw(data.cast::<mpsc::Sender<()>>().cast_mut()) };
        end.send(()).unwrap();
    }
    let (end, ended) = mpsc::channel();
    let data = Box::into_raw(Box::new(end)).cast_const().cast();
    // SAFETY: the future borrows nothing.
    unsafe { task::spawn_scoped_raw(heist_pool::raw::global::pool(), future, done, data) };
    ended
}
