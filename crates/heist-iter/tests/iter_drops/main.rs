//! Every source before every adaptor before every end, with a panic planted anywhere: it arrives once, and every item is
//! dropped exactly once.
//!
//! Each such chain is run with a size, a trap and workers that are drawn for it. A failure prints the seed and the
//! number of the case. With one worker the case can be replayed exactly; with more, but for the timing.
//!
//! | variable | meaning |
//! |---|---|
//! | `HEIST_DROPS_SEED` | what is drawn |
//! | `HEIST_DROPS_CASE` | run only this case |
//! | `HEIST_DROPS_ROUNDS` | draw so often for each chain |

#![allow(clippy::mutable_key_type, reason = "an item's ledger is no part of what it is compared by")]

mod adaptors;
mod ends;
mod erased;
mod fused;
mod ledger;
mod sources;

use adaptors::{ADAPTORS, Adaptor};
use ends::{Drive, ENDS, End};
use erased::{IndexedLoop, Loop};
use heist::ThreadPoolBuilder;
use heist_iter::prelude::*;
use ledger::{Ledger, Place, Planted, Trap};
use sources::{SOURCES, Source, Stream};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SIZES: [usize; 6] = [0, 1, 2, 7, 41, 300];

/// Reports so many failures.
const REPORTED: usize = 10;

#[test]
fn every_item_is_dropped_exactly_once() {
    let number = |name| std::env::var(name).ok().map(|value| value.parse::<usize>().expect("a number"));
    let seed = number("HEIST_DROPS_SEED").unwrap_or_else(|| fastrand::usize(..));
    let only = number("HEIST_DROPS_CASE");
    let chains = chains();
    let cases = chains.len() * number("HEIST_DROPS_ROUNDS").unwrap_or(1);
    println!("HEIST_DROPS_SEED={seed}: {cases} cases of {} chains", chains.len());

    let mut tally = Tally::default();
    for home in [Home::OneWorker, Home::ThreeWorkers, Home::Outside] {
        home.run(|| {
            for case in only.map_or(0..cases, |case| case..case + 1) {
                let chain = &chains[case % chains.len()];
                let draw = Draw::new(&mut fastrand::Rng::with_seed((seed ^ case) as u64));
                if draw.home == home {
                    tally.enter(chain, &draw, || format!("HEIST_DROPS_SEED={seed} HEIST_DROPS_CASE={case}"));
                }
            }
        });
    }
    assert!(tally.failures.is_empty(), "{:#?}", tally.failures);
    if only.is_none() {
        tally.assert_that_user_code_has_panicked_wherever_it_is();
    }
}

/// A draw seldom hits the drop after which there is a result and nothing else, so all of them are tried where values of the user's lie in
/// consumers.
#[test]
fn a_drop_that_panics_loses_no_result() {
    const LEN: usize = 60;
    let mut tally = Tally::default();
    Home::OneWorker.run(|| {
        let has_values = |chain: &&Chain| {
            chain.source.name == "slice.cloned"
                && chain.adaptor.name.starts_with("flat")
                && chain.end.name.starts_with("try_for_each_")
        };
        for chain in chains().iter().filter(has_values) {
            for call in 0..3 * LEN {
                let trap = Some(Trap { place: Place::Drop, call });
                let draw = Draw { len: LEN, is_cut_small: true, home: Home::OneWorker, trap };
                tally.enter(chain, &draw, String::new);
            }
        }
    });
    assert!(tally.sprung.contains(&(Place::Drop, "item")));
    assert!(tally.failures.is_empty(), "{:#?}", tally.failures);
}

/// A source, an adaptor and an end that fit together.
struct Chain {
    source: &'static Source,
    adaptor: &'static Adaptor,
    end: &'static End,
}

fn chains() -> Vec<Chain> {
    let mut chains = Vec::new();
    for source in SOURCES {
        for adaptor in ADAPTORS.iter().filter(|adaptor| source.is_indexed || adaptor.any.is_some()) {
            let is_indexed = source.is_indexed && adaptor.keeps_index;
            for end in ENDS.iter().filter(|end| is_indexed || matches!(end.drive, Drive::Any(_))) {
                chains.push(Chain { source, adaptor, end });
            }
        }
    }
    chains
}

impl Chain {
    fn run(&self, ledger: &Arc<Ledger>, draw: &Draw) {
        (self.source.lend)(ledger, draw.len, &mut |stream| {
            let stream = match stream {
                Stream::Indexed(iter) if draw.is_cut_small => {
                    Stream::Indexed(IndexedLoop::new(iter.with_max_len(1)))
                }
                stream => stream,
            };
            let stream = match (stream, self.adaptor.indexed) {
                (Stream::Indexed(iter), Some(adapt)) => adapt(ledger, iter),
                (stream, _) => (self.adaptor.any.expect("it fits"))(ledger, stream.into_any()),
            };
            ledger.arm();
            match (&self.end.drive, stream) {
                (Drive::Indexed(drive), Stream::Indexed(iter)) => drive(ledger, iter),
                (Drive::Indexed(_), Stream::Any(_)) => unreachable!("it fits"),
                (Drive::Any(drive), stream) => drive(ledger, stream.into_any()),
            }
        });
    }

    /// Whether the standard library, or the language by it, may forget items when one panics as it is dropped: tables
    /// leave off dropping the others, and a function that drops on its way out forgets its result.
    fn is_forgetful(&self) -> bool {
        let Chain { source, end, .. } = self;
        source.name == "(Vec, Vec, array)" || matches!(end.name, "min" | "max") || end.name.contains("Hash")
    }
}

impl<'c> Stream<'c> {
    fn into_any(self) -> Loop<'c> {
        match self {
            Stream::Any(iter) => iter,
            Stream::Indexed(iter) => Loop::new(iter),
        }
    }
}

/// What is drawn for a chain.
#[derive(Debug)]
struct Draw {
    len: usize,
    /// Has as many parts as items.
    is_cut_small: bool,
    home: Home,
    trap: Option<Trap>,
}

impl Draw {
    fn new(rng: &mut fastrand::Rng) -> Draw {
        let len = SIZES[rng.usize(..SIZES.len())];
        let place = match rng.u8(..16) {
            0..2 => None,
            2 => Some(Place::Source),
            3..7 => Some(Place::Adaptor),
            7..11 => Some(Place::End),
            11 => Some(Place::Clone),
            12 => Some(Place::Compare),
            _ => Some(Place::Drop),
        };
        let call = [0, 1, len / 2, len.saturating_sub(1)][rng.usize(..4)];
        let home = match rng.u8(..16) {
            0 => Home::Outside,
            1..6 => Home::OneWorker,
            _ => Home::ThreeWorkers,
        };
        Draw { len, is_cut_small: rng.u8(..4) == 0, home, trap: place.map(|place| Trap { place, call }) }
    }

    fn has_trap_in(&self, place: Place) -> bool {
        self.trap.is_some_and(|trap| trap.place == place)
    }
}

/// Where loops are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Home {
    OneWorker,
    ThreeWorkers,
    /// On a thread that is no worker.
    Outside,
}

impl Home {
    fn run(self, body: impl FnOnce() + Send) {
        let workers = match self {
            Home::OneWorker => 1,
            Home::ThreeWorkers => 3,
            Home::Outside => return body(),
        };
        let strays = Arc::new(AtomicUsize::new(0));
        let seen = strays.clone();
        let handler = move |_| {
            seen.fetch_add(1, Relaxed);
        };
        let pool = ThreadPoolBuilder::new().num_threads(workers).panic_handler(handler).build().unwrap();
        pool.install(body);
        assert_eq!(strays.load(Relaxed), 0, "a panic arrived where nobody had asked for it");
    }
}

/// What has come of the cases.
#[derive(Default)]
struct Tally {
    failures: Vec<String>,
    /// Where there was user code, and where a trap has made it panic.
    reached: BTreeSet<(Place, &'static str)>,
    sprung: BTreeSet<(Place, &'static str)>,
}

impl Tally {
    /// Runs a case.
    fn enter(&mut self, chain: &Chain, draw: &Draw, replay: impl Fn() -> String) {
        if self.failures.len() == REPORTED {
            return;
        }
        let ledger = Ledger::new(draw.trap);
        let result = catch_unwind(AssertUnwindSafe(|| chain.run(&ledger, draw)));
        let complaint = match &result {
            Ok(()) if ledger.has_sprung() => Some("the panic has got lost".to_owned()),
            Err(payload) if !payload.is::<Planted>() => Some("it panics by itself".to_owned()),
            _ => ledger.complaint(draw.has_trap_in(Place::Drop) && chain.is_forgetful()),
        };
        if let Some(complaint) = complaint {
            let Chain { source, adaptor, end } = chain;
            let names = format!("{} | {} | {}", source.name, adaptor.name, end.name);
            self.failures.push(format!("{}: {names}: {draw:?}: {complaint}", replay()));
        }
        for place in Place::ALL {
            let whose = match place {
                Place::Source => chain.source.name,
                Place::Adaptor => chain.adaptor.name,
                Place::End => chain.end.name,
                Place::Clone | Place::Compare | Place::Drop => "item",
            };
            if ledger.has_reached(place) {
                self.reached.insert((place, whose));
            }
            if ledger.has_sprung() && draw.has_trap_in(place) {
                self.sprung.insert((place, whose));
            }
        }
    }

    /// A trap that never springs would test nothing.
    fn assert_that_user_code_has_panicked_wherever_it_is(&self) {
        let tame: Vec<_> = self.reached.difference(&self.sprung).collect();
        assert!(tame.is_empty(), "no trap has sprung in {tame:?}");
        for place in Place::ALL {
            assert!(
                self.sprung.iter().any(|(sprung, _)| *sprung == place),
                "no trap has sprung in {place:?}"
            );
        }
    }
}
