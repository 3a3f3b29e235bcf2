//! Feature `tracing`: a task is polled inside of the span in which it was spawned, on whatever thread.

use std::sync::Mutex;
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
    let task = outer.in_scope(|| {
        heist_async::task::spawn(async {
            for _ in 0..3 {
                tracing::info!("inside");
                heist_async::task::yield_now().await;
            }
        })
    });
    heist_async::block_on(task).unwrap();
    heist_async::block_on(heist_async::task::spawn(async { tracing::info!("no span") })).unwrap();
    let span = outer.id().map(|id| id.into_u64());
    assert!(span.is_some());
    assert_eq!(*SEEN.lock().unwrap(), [span, span, span, None]);
}
