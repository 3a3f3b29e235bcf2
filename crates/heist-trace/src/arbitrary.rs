//! Made-up traces for tests: mostly a few threads and times, so that events meet, and now and then the extremes.

use crate::{Event, Kind, Trace};
use proptest::prelude::*;

prop_compose! {
    pub(crate) fn any_event()(
        at_ns in prop_oneof![0..100_u64, any::<u64>()],
        kind in prop::sample::select(Kind::ALL),
        thread in prop_oneof![0..4_u16, any::<u16>()],
        worker in prop::option::of(prop_oneof![0..4_u16, any::<u16>()]),
        arg in prop_oneof![0..4_u32, any::<u32>()],
    ) -> Event {
        Event { at_ns, kind, thread, worker, arg }
    }
}

prop_compose! {
    /// Any events of any threads in any order.
    pub(crate) fn any_trace()(
        events in prop::collection::vec(any_event(), 0..50),
        names in prop::collection::btree_map(any::<u16>(), any::<String>(), 0..5),
        texts in prop::collection::btree_map(any::<u32>(), any::<String>(), 0..5),
        lost: u64,
    ) -> Trace {
        let named = names.into_iter().fold(Trace::builder(), |b, (number, name)| b.thread(number, name));
        let named = texts.into_iter().fold(named, |b, (number, text)| b.name(number, text));
        named.events(events).lost(lost).finish()
    }
}
