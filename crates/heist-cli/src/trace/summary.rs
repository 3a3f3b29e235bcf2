//! What happened, in a page.

use super::items::{Item, Items, Of, Slice, What};
use crate::json::{self, Text};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// So many kinds of slices are told, the longest in all first.
const SLICES: usize = 12;

/// Slices of one name and kind.
#[derive(Default, Clone)]
struct Slices {
    count: u64,
    total_us: f64,
    longest_us: f64,
}

#[derive(Default)]
struct Thread {
    name: String,
    /// How much of the outermost it has waited so far.
    waited_us: f64,
    busy_us: f64,
    parked_us: f64,
    searching_us: f64,
    blocked_us: f64,
    steals: u64,
    jobs: u64,
    polls: u64,
    ticks: u64,
}

/// See the module.
#[derive(Default)]
pub struct Summary {
    items: Items,
    threads: BTreeMap<Of, Thread>,
    pools: BTreeMap<u64, String>,
    /// By kind and name.
    slices: BTreeMap<(String, String), Slices>,
    lost: BTreeMap<u64, u64>,
    from_us: Option<f64>,
    until_us: f64,
    wakes: u64,
    latest_tick_us: u64,
}

impl Summary {
    /// Counts what stands on a line of the file.
    pub fn line(&mut self, line: &str) -> Result<(), json::Error> {
        if let Some(item) = self.items.line(line)? {
            self.add(item);
        }
        Ok(())
    }

    fn add(&mut self, Item { of, at_us, what }: Item) {
        if let Some(at_us) = at_us {
            self.from_us = Some(self.from_us.map_or(at_us, |from| from.min(at_us)));
            self.until_us = self.until_us.max(at_us);
        }
        let at_us = at_us.unwrap_or(0.0);
        match what {
            What::PoolName(name) => drop(self.pools.insert(of.0, name)),
            What::ThreadName(name) => self.thread(of).name = name,
            What::Lost(lost) => drop(self.lost.insert(of.0, lost)),
            What::Began => {
                let kind = self.items.open(of).last().map(|slice| slice.kind.as_str());
                let thread = self.threads.entry(of).or_default();
                match kind {
                    Some("job") => thread.jobs += 1,
                    Some("poll") => thread.polls += 1,
                    Some("tick") => thread.ticks += 1,
                    _ => {}
                }
            }
            What::Ended(slice) => self.slice(of, &slice, at_us - slice.start_us),
            What::Lasted(slice, took_us) => {
                self.until_us = self.until_us.max(at_us + took_us);
                self.slice(of, &slice, took_us);
            }
            What::Steal(_) => self.thread(of).steals += 1,
            What::LateUs(us) => self.latest_tick_us = self.latest_tick_us.max(us),
            What::Ready => self.wakes += 1,
            What::Woken | What::Counted(..) | What::Other => {}
        }
    }

    fn thread(&mut self, of: Of) -> &mut Thread {
        self.threads.entry(of).or_default()
    }

    /// A slice has ended. What a thread is inside of counts once, by its outermost slice, without the waits inside of it.
    fn slice(&mut self, of: Of, slice: &Slice, took_us: f64) {
        let is_outermost = self.items.open(of).is_empty();
        let thread = self.threads.entry(of).or_default();
        match (slice.kind.as_str(), slice.name.as_str()) {
            ("idle", "parked") => thread.parked_us += took_us,
            ("idle", _) => thread.searching_us += took_us,
            ("wait", _) => thread.blocked_us += took_us,
            _ if is_outermost => thread.busy_us += (took_us - thread.waited_us).max(0.0),
            _ => {}
        }
        let is_idle = slice.kind == "idle";
        if is_outermost {
            thread.waited_us = 0.0;
        } else if is_idle || slice.kind == "wait" {
            thread.waited_us += took_us;
        }
        if is_idle {
            return;
        }
        let slices = self.slices.entry((slice.kind.clone(), slice.name.clone())).or_default();
        slices.count += 1;
        slices.total_us += took_us;
        slices.longest_us = slices.longest_us.max(took_us);
    }

    /// The recording is over: what is still open goes on to its end.
    pub fn finish(mut self) -> Self {
        while let Some((of, slice)) = self.items.close() {
            self.slice(of, &slice, self.until_us - slice.start_us);
        }
        self
    }

    fn took_us(&self) -> f64 {
        self.from_us.map_or(0.0, |from_us| self.until_us - from_us)
    }

    /// The longest in all first.
    fn longest(&self) -> Vec<(&(String, String), &Slices)> {
        let mut longest: Vec<_> = self.slices.iter().collect();
        longest.sort_by(|a, b| b.1.total_us.total_cmp(&a.1.total_us));
        longest
    }

    /// For a script.
    pub fn to_json(&self) -> String {
        let thread = |((pool, number), thread): (&Of, &Thread)| {
            let Thread {
                name, busy_us, blocked_us, searching_us, parked_us, jobs, polls, ticks, steals, ..
            } = thread;
            format!(
                "{{\"pool\":{pool},\"thread\":{number},\"name\":{},\"busy_us\":{busy_us:?},\"blocked_us\":{blocked_us:?},\"searching_us\":{searching_us:?},\
                 \"parked_us\":{parked_us:?},\"jobs\":{jobs},\"polls\":{polls},\"ticks\":{ticks},\"steals\":{steals}}}",
                Text(name)
            )
        };
        let slices = |((kind, name), slices): (&(String, String), &Slices)| {
            let Slices { count, total_us, longest_us } = slices;
            format!(
                "{{\"kind\":{},\"name\":{},\"count\":{count},\"total_us\":{total_us:?},\"longest_us\":{longest_us:?}}}",
                Text(kind),
                Text(name)
            )
        };
        let pools = self.pools.iter().map(|(id, name)| format!("\"{id}\":{}", Text(name)));
        format!(
            "{{\"took_us\":{:?},\"lost\":{},\"wakes\":{},\"latest_tick_us\":{},\"pools\":{{{}}},\"threads\":[{}],\"slices\":[{}]}}",
            self.took_us(),
            self.lost.values().sum::<u64>(),
            self.wakes,
            self.latest_tick_us,
            pools.collect::<Vec<_>>().join(","),
            self.threads.iter().map(thread).collect::<Vec<_>>().join(","),
            self.longest().into_iter().map(slices).collect::<Vec<_>>().join(",")
        )
    }

    /// For people.
    pub fn write(&self, out: &mut dyn Write, has_colours: bool) -> io::Result<()> {
        let bold = |text: &str| if has_colours { format!("\x1b[1m{text}\x1b[0m") } else { text.into() };
        let took_us = self.took_us();
        let pools = self.pools.keys().filter(|&&pool| pool != 0).count();
        writeln!(
            out,
            "{} in {} of {}",
            bold(&time(took_us)),
            count(self.threads.len() as u64, "thread"),
            count(pools as u64, "pool")
        )?;
        match self.lost.values().sum() {
            0 => {}
            lost => writeln!(
                out,
                "{} {} missing: their thread was faster than whoever read them; counts and times are too small",
                count(lost, "event"),
                if lost == 1 { "is" } else { "are" }
            )?,
        }
        if self.latest_tick_us > 0 {
            writeln!(
                out,
                "the tick that was most late began {} after its time",
                time(self.latest_tick_us as f64)
            )?;
        }
        writeln!(
            out,
            "\n{}",
            bold(&format!(
                "{:<24} {:>6} {:>8} {:>10} {:>7} {:>8} {:>8} {:>7} {:>8}",
                "thread", "busy", "blocked", "searching", "parked", "jobs", "polls", "ticks", "steals"
            ))
        )?;
        let share = |us: f64| format!("{:.0} %", if took_us > 0.0 { 100.0 * us / took_us } else { 0.0 });
        for ((pool, _), thread) in &self.threads {
            let name = if *pool == 0 { thread.name.clone() } else { format!("{pool}: {}", thread.name) };
            writeln!(
                out,
                "{:<24} {:>6} {:>8} {:>10} {:>7} {:>8} {:>8} {:>7} {:>8}",
                short(&name, 24),
                share(thread.busy_us),
                share(thread.blocked_us),
                share(thread.searching_us),
                share(thread.parked_us),
                thread.jobs,
                thread.polls,
                thread.ticks,
                thread.steals
            )?;
        }
        let longest = self.longest();
        if longest.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\n{}",
            bold(&format!(
                "{:<6} {:<44} {:>8} {:>10} {:>10} {:>10}",
                "what", "called", "times", "in all", "mean", "longest"
            ))
        )?;
        for ((kind, name), slices) in longest.iter().take(SLICES) {
            writeln!(
                out,
                "{:<6} {:<44} {:>8} {:>10} {:>10} {:>10}",
                kind,
                short(name, 44),
                slices.count,
                time(slices.total_us),
                time(slices.total_us / slices.count as f64),
                time(slices.longest_us)
            )?;
        }
        if longest.len() > SLICES {
            writeln!(out, "and {} more (--json has them all)", longest.len() - SLICES)?;
        }
        Ok(())
    }
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn time(us: f64) -> String {
    match us {
        us if us < 1_000.0 => format!("{us:.1} us"),
        us if us < 1_000_000.0 => format!("{:.1} ms", us / 1_000.0),
        us => format!("{:.2} s", us / 1_000_000.0),
    }
}

/// The end of a long name tells more than its beginning: paths begin alike. Nothing of it moves the terminal's cursor.
fn short(name: &str, most: usize) -> String {
    let plain: Vec<char> = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if plain.len() <= most {
        return plain.into_iter().collect();
    }
    std::iter::once('\u{2026}').chain(plain[plain.len() + 1 - most..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summed(lines: &[&str]) -> Summary {
        let mut summary = Summary::default();
        lines.iter().for_each(|line| summary.line(line).unwrap());
        summary.finish()
    }

    #[test]
    fn time_is_counted_once_where_slices_nest() {
        let summary = summed(&[
            "[",
            r#"{"ph":"M","pid":1,"tid":0,"name":"thread_name","args":{"name":"w"}},"#,
            r#"{"ph":"B","pid":1,"tid":0,"ts":10.0,"cat":"poll","name":"a","args":{}},"#,
            r#"{"ph":"B","pid":1,"tid":0,"ts":20.0,"cat":"span","name":"b","args":{}},"#,
            r#"{"ph":"E","pid":1,"tid":0,"ts":30.0},"#,
            r#"{"ph":"X","pid":1,"tid":0,"ts":30.0,"dur":10.0,"cat":"wait","name":"asleep in the kernel","args":{}},"#,
            r#"{"ph":"E","pid":1,"tid":0,"ts":50.0},"#,
            r#"{"ph":"B","pid":1,"tid":0,"ts":50.0,"cat":"idle","name":"parked","args":{}},"#,
            r#"{"ph":"i","s":"t","pid":1,"tid":1,"ts":60.0,"name":"steal","args":{"from":0}}"#,
            "]",
        ]);
        let json: serde_json::Value = serde_json::from_str(&summary.to_json()).unwrap();
        assert_eq!(json["took_us"], 50.0);
        let thread = &json["threads"][0];
        assert_eq!((&thread["busy_us"], &thread["parked_us"]), (&30.0.into(), &10.0.into()));
        assert_eq!(thread["blocked_us"], 10.0);
        assert_eq!((&thread["polls"], &json["threads"][1]["steals"]), (&1.into(), &1.into()));
        assert_eq!(json["slices"][0]["name"], "a");
        assert_eq!(json["slices"][1]["total_us"], 10.0);
        let mut text = Vec::new();
        summary.write(&mut text, false).unwrap();
        assert!(String::from_utf8(text).unwrap().contains("60 %"));
    }

    #[test]
    fn names_cannot_write_to_the_terminal() {
        assert_eq!(short("a\x1b[2Jb", 10), "a\u{fffd}[2Jb");
        assert_eq!(short("abcdef", 4), "\u{2026}def");
    }
}
