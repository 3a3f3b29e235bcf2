//! For scripts.

use crate::json::{Text, list, or_null};
use heist::profile::{Figures, Part, Prediction, Profile, Runs, Site, Waited};
use std::io::{self, Write};
use std::time::Duration;

fn ns(time: Option<Duration>) -> String {
    or_null(time.map(|time| time.as_nanos()))
}

fn runs(runs: Runs) -> String {
    let Runs { count, ns, longest_ns, wakes, self_wakes, waited } = runs;
    let Waited { count: times, mean_ns, p50_ns, p99_ns, longest_ns: most_ns } = waited;
    let waited = format!(
        r#"{{"count": {times}, "mean_ns": {mean_ns}, "p50_ns": {p50_ns}, "p99_ns": {p99_ns}, "longest_ns": {most_ns}}}"#
    );
    format!(
        r#"{{"count": {count}, "ns": {ns}, "longest_ns": {longest_ns}, "wakes": {wakes}, "self_wakes": {self_wakes}, "waited": {waited}}}"#
    )
}

fn site(site: &Site) -> String {
    let Site { code, file, name, forks, stolen, work_ns } = site;
    let text = |text: &Option<String>| or_null(text.as_deref().map(Text));
    format!(
        r#"{{"name": {}, "file": {}, "code": {code}, "forks": {forks}, "stolen": {stolen}, "work_ns": {work_ns}}}"#,
        text(name),
        text(file)
    )
}

fn part(part: &Part) -> String {
    let Part { name, times, work_ns, span_ns } = part;
    format!(r#"{{"name": {}, "times": {times}, "work_ns": {work_ns}, "span_ns": {span_ns}}}"#, Text(name))
}

fn prediction(p: Prediction) -> String {
    format!(
        r#"{{"workers": {}, "lower": {:.3}, "expected": {:.3}, "upper": {:.3}}}"#,
        p.workers, p.lower, p.expected, p.upper
    )
}

/// Writes one object. What is too fine to tell is null.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let Figures { forks, stolen, pieces, steals, tries, searching_ns, waiting_ns, .. } = profile.figures();
    let figures = profile.figures();
    let numbers = [
        ("work_ns", ns(Some(profile.work()))),
        ("outside_ns", figures.outside_ns.to_string()),
        ("span_ns", ns(profile.span())),
        ("burdened_span_ns", ns(profile.burdened_span())),
        ("parallelism", or_null(profile.parallelism())),
        ("burdened_parallelism", or_null(profile.burdened_parallelism())),
        ("elapsed_ns", figures.elapsed_ns.to_string()),
        ("workers", profile.workers().to_string()),
        ("utilisation", profile.utilisation().to_string()),
        ("searching_ns", searching_ns.to_string()),
        ("waiting_ns", waiting_ns.to_string()),
        ("asleep_ns", profile.asleep().as_nanos().to_string()),
        ("forks", forks.to_string()),
        ("stolen", stolen.to_string()),
        ("pieces", pieces.to_string()),
        ("steals", steals.to_string()),
        ("steals_tried", tries.to_string()),
        ("steal_ns", figures.steal_ns.to_string()),
        ("wake_ns", figures.wake_ns.to_string()),
        ("polls", runs(figures.polls)),
        ("ticks", runs(figures.ticks)),
    ];
    writeln!(out, "{{")?;
    for (name, value) in numbers {
        writeln!(out, "  {}: {value},", Text(name))?;
    }
    writeln!(out, "  \"predictions\": {},", list(profile.predictions().map(prediction)))?;
    writeln!(out, "  \"regions\": {},", list(figures.parts.iter().map(part)))?;
    writeln!(out, "  \"sites\": {}\n}}", list(figures.sites.iter().map(site)))
}
