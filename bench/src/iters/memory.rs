//! The most memory that collecting and sorting take, each in a process of its own.
//!
//! What counts is what the kernel had to provide (`VmHWM`, less the pages of files), the input included: an allocation that
//! is not touched takes nothing, and one that was given back to the allocator, not to the kernel, still counts.

use std::fs;
use std::hint::black_box;

use clap::ValueEnum;

#[cfg(feature = "heist")]
use super::on_heist;
use super::{WORKERS, inputs, on_rayon};
use crate::args::Pooled;
use crate::peers::{Backend, rayon::Rayon};
use crate::process;
use crate::race::Plan;
use crate::report::{Bar, Judged, Row, Sense, Table};

/// Stacks and page tables differ from run to run; a hundredth is noise.
const MAX: f64 = 1.01;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Work {
    /// map and collect
    Map,
    /// filter and collect
    Filter,
    /// par_sort_unstable
    SortUnstable,
    /// par_sort
    SortStable,
}

impl Work {
    fn title(self) -> &'static str {
        match self {
            Work::Map => "map + collect",
            Work::Filter => "filter + collect",
            Work::SortUnstable => "par_sort_unstable",
            Work::SortStable => "par_sort",
        }
    }

    fn word(self) -> String {
        let value = self.to_possible_value().expect("none is hidden");
        value.get_name().to_owned()
    }

    fn on_rayon(self, v: &mut Vec<u64>) {
        match self {
            Work::Map => drop(black_box(on_rayon::work::map_collect::run(v))),
            Work::Filter => drop(black_box(on_rayon::work::filter_collect::run(v))),
            Work::SortUnstable => on_rayon::work::sorts::unstable(v),
            Work::SortStable => on_rayon::work::sorts::stable(v),
        }
    }

    #[cfg(feature = "heist")]
    fn on_heist(self, v: &mut Vec<u64>) {
        match self {
            Work::Map => drop(black_box(on_heist::work::map_collect::run(v))),
            Work::Filter => drop(black_box(on_heist::work::filter_collect::run(v))),
            Work::SortUnstable => on_heist::work::sorts::unstable(v),
            Work::SortStable => on_heist::work::sorts::stable(v),
        }
    }
}

/// Every kind of work on both, several times; the medians count.
pub fn table(plan: &Plan) -> Option<Table> {
    if !cfg!(feature = "heist") || !plan.wants_row("memory") {
        return None;
    }
    let items = plan.size(8_000_000, 4_000_000).to_string();
    let runs = plan.size(5, 3);
    let peak = |pooled: Pooled, work: Work| {
        let mut peaks: Vec<u64> =
            (0..runs).map(|_| process::run_alone(&["memory", pooled.word(), &work.word(), &items])).collect();
        peaks.sort_unstable();
        (peaks[0] as f64 / 1024.0, peaks[runs / 2] as f64 / 1024.0)
    };
    let mut rows = Vec::new();
    for work in Work::value_variants() {
        let peers = Pooled::value_variants();
        let figures: Vec<(f64, f64)> = peers.iter().map(|pooled| peak(*pooled, *work)).collect();
        for (pooled, (best, median)) in peers.iter().zip(&figures) {
            let bar = (*pooled != Pooled::Rayon).then(|| Bar {
                measured: median / figures[0].1,
                what: "x rayon".into(),
                sense: Sense::AtMost,
                limit: MAX,
            });
            let name = format!("{}, {}", work.title(), pooled.word());
            rows.push(Row {
                name,
                best: *best,
                median: *median,
                samples: runs,
                bars: bar.into_iter().collect(),
            });
        }
    }
    let title = format!("peak memory, the input of {items} u64 included, {WORKERS} workers");
    Some(Table::with_rows("iters", title, "MB", Judged::Median, rows))
}

/// Does the work once and answers with the kB that it took at most, the input included.
pub fn alone(pooled: Pooled, work: Work, items: usize) {
    let before = resident_max();
    let mut numbers = inputs::numbers(items);
    match pooled {
        Pooled::Rayon => {
            let pool = Rayon::pool(WORKERS);
            pool.install(|| work.on_rayon(&mut numbers));
        }
        #[cfg(feature = "heist")]
        Pooled::Heist => {
            let pool = crate::peers::heist::Heist::pool(WORKERS);
            pool.install(|| work.on_heist(&mut numbers));
        }
    }
    process::answer(&(resident_max() - before));
}

/// The most kB that this process has had in memory so far, but for what it has of files: its own code, of which either
/// peer uses another part.
fn resident_max() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc/self/status says what memory is used");
    let kb = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    match (kb("VmHWM:"), kb("RssFile:")) {
        (Some(all), Some(files)) => all - files,
        _ => panic!("/proc/self/status has lines VmHWM and RssFile in kB"),
    }
}
