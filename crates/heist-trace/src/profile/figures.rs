//! What was measured, as it is written to a file.

use std::fmt;
use std::str::FromStr;

/// What a profile is made of: plain numbers, with a text form that programs write and the command `heist profile` reads.
///
/// ```
/// use heist::profile::Figures;
/// let figures = Figures { work_ns: 1_000, workers: 2, ..Figures::default() };
/// assert_eq!(figures.to_string().parse(), Ok(figures));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// The time of all strands.
    pub work_ns: u64,
    /// The time of those on the longest path.
    pub span_ns: u64,
    /// The same, with the costs of letting other threads have what lies on it.
    pub burdened_ns: u64,
    /// How long it took.
    pub elapsed_ns: u64,
    /// How much of that was outside of heist, if a whole process was measured.
    pub outside_ns: u64,
    /// How many threads could run at once.
    pub workers: usize,
    /// Forks.
    pub forks: u64,
    /// Forks of which another thread took a half.
    pub stolen: u64,
    /// What could have been run apart: halves, spawned jobs, blocks of loops; at least 1.
    pub pieces: u64,
    /// How often a thread took something from another one,
    pub steals: u64,
    /// and looked for something there.
    pub tries: u64,
    /// How long threads looked for work,
    pub searching_ns: u64,
    /// and waited for other threads, awake.
    pub waiting_ns: u64,
    /// What it costs here to take a job from another thread,
    pub steal_ns: u64,
    /// and to wake a thread for one.
    pub wake_ns: u64,
    /// Polls of tasks.
    pub polls: Runs,
    /// Runs of ticks.
    pub ticks: Runs,
    /// The code that was forked.
    pub sites: Vec<Site>,
    /// The parts that the program has named.
    pub parts: Vec<Part>,
}

/// Polls of tasks, or runs of ticks.
///
/// ```
/// assert_eq!(heist::profile::Runs::default().count, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// How many.
    pub count: u64,
    /// How long all of them took, without waits, with what they have forked to other threads. A thread that has no CPU for a moment counts on: beside more
    /// threads than CPUs this is more than the CPUs' time.
    pub ns: u64,
    /// How long the longest took, counted in the same way.
    pub longest_ns: u64,
    /// How often tasks were made ready, by spawning or waking them. Ticks are due by the clock, so 0.
    pub wakes: u64,
    /// How many of these were woken in the middle of their own poll, as `yield_now` does it.
    pub self_wakes: u64,
    /// How long they were ready before they were polled; of ticks, by how much they were late.
    pub waited: Waited,
}

/// How long things have waited until they were run.
///
/// The quantiles are those of `heist::metrics::Histogram`: at most an eighth too large.
///
/// ```
/// let waited = heist::profile::Waited { count: 2, mean_ns: 500, longest_ns: 900, ..Default::default() };
/// assert!(waited.mean_ns <= waited.longest_ns);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// How many.
    pub count: u64,
    /// For how long on average.
    pub mean_ns: u64,
    /// Half of them no longer than this,
    pub p50_ns: u64,
    /// and 99 of 100 no longer than this.
    pub p99_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

/// The code of the second half of a fork.
///
/// ```
/// let (_, profile) = heist::profile(|| heist::join(|| 1, || 2));
/// assert_eq!(profile.figures().sites[0].forks, 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Site {
    /// Where it is in its file; its address, if that is unknown.
    pub code: u64,
    /// The file.
    pub file: Option<String>,
    /// What it is called, once somebody has looked that up.
    pub name: Option<String>,
    /// How often it was forked,
    pub forks: u64,
    /// and another thread took it.
    pub stolen: u64,
    /// How long both halves took, without the forks in them.
    pub work_ns: u64,
}

/// A part of the program that has a name: see `heist::profile::region`.
///
/// ```
/// let part = heist::profile::Part { name: "sort".into(), times: 1, work_ns: 300, span_ns: 100 };
/// assert_eq!(part.work_ns / part.span_ns, 3);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// How often it was run.
    pub times: u64,
    /// Its work,
    pub work_ns: u64,
    /// and its span.
    pub span_ns: u64,
}

/// A text is not that of a profile.
///
/// ```
/// let error = "something else".parse::<heist::profile::Figures>().unwrap_err();
/// assert!(error.to_string().contains("not a profile"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAProfile {
    line: usize,
}

impl fmt::Display for NotAProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            1 => write!(
                f,
                "this is not a profile of heist's, or of another version: its first line is not {FIRST:?}"
            ),
            n => write!(f, "line {n} of the profile is not understood; it may have been cut off"),
        }
    }
}

impl std::error::Error for NotAProfile {}

const FIRST: &str = "heist profile 2";
const LAST: &str = "end";

/// The numbers with a line of their own.
macro_rules! for_each_number {
    ($do:ident) => {
        $do! { work_ns span_ns burdened_ns elapsed_ns outside_ns workers forks stolen pieces steals tries searching_ns waiting_ns steal_ns wake_ns }
    };
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST}")?;
        macro_rules! write_all {
            ($($name:ident)*) => { $( writeln!(f, "{} {}", stringify!($name), self.$name)?; )* };
        }
        for_each_number!(write_all);
        for (name, runs) in [("polls", self.polls), ("ticks", self.ticks)] {
            let Runs { count, ns, longest_ns, wakes, self_wakes, waited } = runs;
            let Waited { count: times, mean_ns, p50_ns, p99_ns, longest_ns: most_ns } = waited;
            write!(f, "{name} {count} {ns} {longest_ns} {wakes} {self_wakes}")?;
            writeln!(f, " {times} {mean_ns} {p50_ns} {p99_ns} {most_ns}")?;
        }
        // What may contain spaces comes last.
        for Site { code, file, forks, stolen, work_ns, .. } in &self.sites {
            let file = file.as_deref().unwrap_or("").replace('\n', " ");
            writeln!(f, "site {code:x} {forks} {stolen} {work_ns} {file}")?;
        }
        for Part { name, times, work_ns, span_ns } in &self.parts {
            writeln!(f, "part {times} {work_ns} {span_ns} {}", name.replace('\n', " "))?;
        }
        writeln!(f, "{LAST}")
    }
}

impl FromStr for Figures {
    type Err = NotAProfile;

    fn from_str(text: &str) -> Result<Self, NotAProfile> {
        let mut figures = Self::default();
        let mut lines = text.lines().zip(1..);
        if lines.next().is_none_or(|(line, _)| line != FIRST) {
            return Err(NotAProfile { line: 1 });
        }
        let mut last = 1;
        for (line, number) in lines {
            if line == LAST {
                return Ok(figures);
            }
            figures.read_line(line).ok_or(NotAProfile { line: number })?;
            last = number;
        }
        Err(NotAProfile { line: last + 1 })
    }
}

impl Figures {
    fn read_line(&mut self, line: &str) -> Option<()> {
        let (name, rest) = line.split_once(' ')?;
        macro_rules! read {
            ($($field:ident)*) => {
                match name {
                    $( stringify!($field) => self.$field = rest.parse().ok()?, )*
                    "polls" => self.polls = Runs::read(rest)?,
                    "ticks" => self.ticks = Runs::read(rest)?,
                    "site" => self.sites.push(Site::read(rest)?),
                    "part" => self.parts.push(Part::read(rest)?),
                    _ => return None,
                }
            };
        }
        for_each_number!(read);
        Some(())
    }
}

impl Runs {
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ').map(|word| word.parse().ok());
        let mut next = || words.next()?;
        Some(Self {
            count: next()?,
            ns: next()?,
            longest_ns: next()?,
            wakes: next()?,
            self_wakes: next()?,
            waited: Waited {
                count: next()?,
                mean_ns: next()?,
                p50_ns: next()?,
                p99_ns: next()?,
                longest_ns: next()?,
            },
        })
    }
}

impl Site {
    fn read(text: &str) -> Option<Self> {
        let mut words = text.splitn(5, ' ');
        let code = u64::from_str_radix(words.next()?, 16).ok()?;
        let mut number = || words.next()?.parse().ok();
        let (forks, stolen, work_ns) = (number()?, number()?, number()?);
        let file = words.next().filter(|file| !file.is_empty()).map(String::from);
        Some(Self { code, file, name: None, forks, stolen, work_ns })
    }
}

impl Part {
    fn read(text: &str) -> Option<Self> {
        let mut words = text.splitn(4, ' ');
        let mut number = || words.next()?.parse().ok();
        let (times, work_ns, span_ns) = (number()?, number()?, number()?);
        Some(Self { name: words.next()?.into(), times, work_ns, span_ns })
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    fn some() -> Figures {
        let site = |file: Option<&str>| Site {
            code: 0x1f0,
            file: file.map(String::from),
            name: None,
            forks: 3,
            stolen: 1,
            work_ns: 9,
        };
        Figures {
            work_ns: 10,
            span_ns: 4,
            workers: 2,
            polls: Runs {
                count: 1,
                ns: 2,
                longest_ns: 3,
                wakes: 4,
                self_wakes: 5,
                waited: Waited { count: 6, mean_ns: 7, p50_ns: 8, p99_ns: 9, longest_ns: 10 },
            },
            sites: vec![site(Some("/a b/c")), site(None)],
            parts: vec![Part { name: "the tree".into(), times: 1, work_ns: 3, span_ns: 2 }],
            ..Figures::default()
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(some().to_string().parse(), Ok(some()));
    }

    #[test]
    fn what_is_cut_off_or_strange_is_refused() {
        let text = some().to_string();
        for n in 0..text.len() - 1 {
            assert!(text[..n].parse::<Figures>().is_err(), "{n} bytes");
        }
        let strange = text.replace("forks 0", "forks many");
        assert_eq!(strange.parse::<Figures>(), Err(NotAProfile { line: 8 }));
    }
}
