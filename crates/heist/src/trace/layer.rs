//! The spans of `tracing` in heist's traces.

use heist_pool::raw::recorder::{self, Kind, name};
use tracing::Subscriber;
use tracing::span::Id;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// A layer for `tracing_subscriber` that shows the program's `tracing` spans in heist's traces, as slices on the thread that is
/// inside of them: while a task is polled, and not while it waits.
///
/// Without a recording a span costs one branch more.
///
/// ```standalone_crate
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let subscriber = tracing_subscriber::registry().with(heist::trace::TracingLayer);
/// tracing::subscriber::with_default(subscriber, || {
///     heist::trace::start();
///     let sum = tracing::info_span!("sum").in_scope(|| 1 + 2);
///     let trace = heist::trace::stop();
///     assert!(sum == 3 && trace.names().any(|(_, name)| name == "sum"));
/// });
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct TracingLayer;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for TracingLayer {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        recorder::record_own(Kind::SpanStart, 0, 0, || {
            context.span(id).map_or(0, |span| name::number(span.name()))
        });
    }

    fn on_exit(&self, _: &Id, _: Context<'_, S>) {
        recorder::record_own(Kind::SpanEnd, 0, 0, || 0);
    }
}
