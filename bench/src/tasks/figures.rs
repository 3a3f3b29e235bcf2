//! From two series to one row: what heist took, in terms of tokio.

use crate::race::Series;
use crate::report::{Bar, Row, Sense};

/// Runs the same visit on both runtimes in alternation; `$R` is the runtime in it.
macro_rules! both {
    ($plan:expr, $rounds:expr, |$R:ident| $visit:expr) => {{
        let mut race = $crate::race::Race::new();
        race.enter("tokio", || {
            type $R = $crate::tasks::runtime::Tokio;
            $visit
        });
        #[cfg(feature = "heist")]
        race.enter("heist", || {
            type $R = $crate::tasks::runtime::Heist;
            $visit
        });
        race.run($rounds, &mut $plan.rng)
    }};
}
pub(super) use both;

/// What heist promises about a row.
#[derive(Clone, Copy)]
pub enum Limit {
    /// At most so many times tokio's figure.
    Ratio(f64),
    /// At most so much.
    Figure(f64),
    /// At most so much more than tokio.
    More(f64),
    /// Nothing: the ratio is there to be read.
    None,
}

/// Of one contestant.
#[derive(Clone, Copy)]
pub struct Figures {
    pub best: f64,
    pub median: f64,
    pub samples: usize,
}

impl Figures {
    /// In units of `unit_ns` nanoseconds.
    pub fn of(series: &Series, unit_ns: f64) -> Figures {
        Figures {
            best: series.best_ns() / unit_ns,
            median: series.median_ns() / unit_ns,
            samples: series.samples_ns.len(),
        }
    }

    /// One figure that stands for all samples: their quantile.
    pub fn quantile(series: &Series, share: f64, unit_ns: f64) -> Figures {
        let figure = quantile(&series.samples_ns, share) / unit_ns;
        Figures { best: figure, median: figure, samples: series.samples_ns.len() }
    }
}

/// The smallest sample that at least `share` of all do not exceed.
pub fn quantile(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.saturating_sub(1)]
}

/// A row of nanoseconds, judged by medians.
pub fn compare(name: &str, series: Vec<Series>, limits: &[Limit]) -> Row {
    compare_by(name, &series, limits, |series| Figures::of(series, 1.0))
}

/// A row of what `figures` takes from each series.
pub fn compare_by(
    name: &str,
    series: &[Series],
    limits: &[Limit],
    figures: impl Fn(&Series) -> Figures,
) -> Row {
    let of = |name: &str| series.iter().find(|series| series.name == name).map(&figures);
    row(name, of("tokio").expect("tokio always takes part"), of("heist"), limits)
}

/// heist's figures, with tokio's in the bars; tokio's where heist is not there.
pub fn row(name: &str, tokio: Figures, heist: Option<Figures>, limits: &[Limit]) -> Row {
    let Figures { best, median, samples } = heist.unwrap_or(tokio);
    let bars = heist.into_iter().flat_map(|heist| limits.iter().map(move |limit| limit.bar(heist, tokio)));
    Row { name: name.into(), best, median, samples, bars: bars.collect() }
}

impl Limit {
    fn bar(self, heist: Figures, tokio: Figures) -> Bar {
        let ratio = heist.median / tokio.median;
        let of_tokio = format!("x tokio, {:.2} {:.2}", tokio.best, tokio.median);
        match self {
            Limit::Ratio(limit) => Bar { measured: ratio, what: of_tokio, sense: Sense::AtMost, limit },
            Limit::None => Bar { measured: ratio, what: of_tokio, sense: Sense::Reported, limit: f64::NAN },
            Limit::More(limit) => {
                let what = format!("more than tokio's {:.2}", tokio.median);
                Bar { measured: heist.median - tokio.median, what, sense: Sense::AtMost, limit }
            }
            Limit::Figure(limit) => {
                let what = format!("(tokio {:.2})", tokio.median);
                Bar { measured: heist.median, what, sense: Sense::AtMost, limit }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples() {
        let samples: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(&samples, 0.5), 50.0);
        assert_eq!(quantile(&samples, 0.99), 99.0);
        assert_eq!(quantile(&samples, 1.0), 100.0);
        assert_eq!(quantile(&[7.0], 0.01), 7.0);
    }

    #[test]
    fn rows_are_judged_by_medians() {
        let figures = |median| Figures { best: 1.0, median, samples: 3 };
        let limits = [Limit::Ratio(0.5), Limit::Figure(2.5), Limit::More(-1.0), Limit::None];
        let met = |heist| -> Vec<bool> {
            row("some", figures(4.0), Some(figures(heist)), &limits).bars.iter().map(Bar::is_met).collect()
        };
        assert_eq!(met(2.0), [true, true, true, true]);
        assert_eq!(met(2.2), [false, true, true, true]);
        assert_eq!(met(3.0), [false, false, true, true]);
        assert_eq!(met(3.5), [false, false, false, true]);
    }

    #[test]
    fn without_heist_the_row_is_tokios() {
        let tokio = Figures { best: 1.0, median: 2.0, samples: 3 };
        let row = row("some", tokio, None, &[Limit::Ratio(0.5)]);
        assert_eq!((row.median, row.bars.len()), (2.0, 0));
    }
}
