//! What happened in a heist pool, and when: the vocabulary of events, the rings that threads record them into, trace files,
//! and a timeline for the terminal.
//!
//! Data flows one way: each thread [records](Ring::record) [`Event`]s into its own [`Ring`]; a [`Trace`] collects what
//! the rings hold; from it come Chrome/Perfetto JSON ([`Trace::write_chrome`]), a binary file ([`Trace::write_binary`],
//! [`Trace::read_binary`]) and a [`Timeline`]. These three need the feature `output`, which is on by default.
//!
//! Rings overwrite their oldest events and never slow their producer down. The rule that makes this acceptable: **lost
//! events are counted, never silent.** Every read of a ring says how many it missed ([`Lost`]), a trace carries the sum
//! and marks each gap ([`Kind::Gap`]), and every output shows it.
//!
//! ```
//! use heist::trace::{Event, Kind, Ring, Style, Timeline, Trace};
//!
//! let ring = Ring::new(1024);
//! ring.record(Event::now(Kind::JobStart, 0, Some(0), 0));
//! ring.record(Event::now(Kind::JobEnd, 0, Some(0), 0));
//!
//! let trace = Trace::builder().ring(0, "worker 0", &ring).finish();
//! assert_eq!((trace.events().len(), trace.lost()), (2, 0));
//! println!("{}", Timeline::new(&trace).render(&Style::new(80)));
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "output"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(all(test, not(heist_model)))]
mod arbitrary;
#[cfg(feature = "output")]
mod binary;
#[cfg(feature = "output")]
mod chrome;
mod clock;
mod event;
#[doc(hidden)]
pub mod inside;
pub mod name;
#[doc(hidden)]
pub mod profile;
mod ring;
#[cfg(feature = "output")]
mod timeline;
mod trace;
#[cfg(feature = "output")]
mod walk;

#[cfg(feature = "output")]
pub use binary::ReadError;
#[cfg(feature = "output")]
pub use chrome::ChromeWriter;
pub use clock::now_ns;
pub use event::{Event, Kind};
pub use ring::{Lost, Position, Ring};
#[cfg(feature = "output")]
pub use timeline::{Activity, Glyphs, Interval, Row, Style, Timeline};
pub use trace::{Builder, Trace};
