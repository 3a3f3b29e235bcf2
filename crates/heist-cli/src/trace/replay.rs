//! A recorded trace as frames of the live page, for one HTML file with the data inside.

use super::items::{Item, Items, Slice, What};
use crate::json;
use heist::live::frame::{DemoNow, Frame, Inside, MOST_ARROWS, PoolFrame, SlowTask, State, WorkerRow};
use std::collections::BTreeMap;

/// As often as the live view looks.
const EVERY_MS: f64 = 50.0;
/// As much as the live page keeps.
const MOST_MS: f64 = 30_000.0;
/// A poll counts as slow from then on.
const SLOW_MS: f64 = 10.0;

/// See the module.
#[derive(Default)]
pub struct Replay {
    items: Items,
    pools: BTreeMap<u64, Pool>,
    slow: BTreeMap<String, f64>,
    from_ms: Option<f64>,
    until_ms: f64,
}

#[derive(Default)]
struct Pool {
    name: String,
    threads: BTreeMap<u64, Thread>,
    /// When, from which thread, to which.
    steals: Vec<(f64, u64, u64)>,
    wakes: Vec<f64>,
    injected: Vec<(f64, usize)>,
}

#[derive(Default)]
struct Thread {
    name: String,
    /// From when on it was doing what.
    changes: Vec<(f64, State, Inside)>,
    queued: Vec<(f64, usize)>,
}

impl Replay {
    /// Takes what stands on a line of the file.
    pub fn line(&mut self, line: &str) -> Result<(), json::Error> {
        if let Some(item) = self.items.line(line)? {
            self.add(item);
        }
        Ok(())
    }

    fn add(&mut self, Item { of: (pid, tid), at_us, what }: Item) {
        let pool = self.pools.entry(pid).or_default();
        let at_ms = at_us.unwrap_or(0.0) / 1e3;
        if at_us.is_some() {
            self.from_ms = Some(self.from_ms.map_or(at_ms, |from_ms| from_ms.min(at_ms)));
            self.until_ms = self.until_ms.max(at_ms);
        }
        match what {
            What::PoolName(name) => pool.name = name,
            What::ThreadName(name) => pool.threads.entry(tid).or_default().name = name,
            What::Began | What::Ended(_) => {
                let innermost = self.items.open((pid, tid)).last();
                pool.threads.entry(tid).or_default().note(at_ms, innermost);
                if let What::Ended(slice) = what
                    && slice.kind == "poll"
                    && at_ms - slice.start_us / 1e3 >= SLOW_MS
                {
                    let longest = self.slow.entry(slice.name).or_default();
                    *longest = longest.max(at_ms - slice.start_us / 1e3);
                }
            }
            What::Steal(from) => pool.steals.push((at_ms, from, tid)),
            What::Woken => pool.wakes.push(at_ms),
            What::Counted(name, value) => {
                if name == "injected" {
                    pool.injected.push((at_ms, value as usize));
                } else if let Some(tid) = name.strip_prefix("queued by thread ").and_then(|n| n.parse().ok())
                {
                    pool.threads.entry(tid).or_default().queued.push((at_ms, value as usize));
                }
            }
            What::Lasted(..) | What::Lost(_) | What::LateUs(_) | What::Ready | What::Other => {}
        }
    }

    /// The frames of the last half minute, as JSON.
    pub fn finish(mut self) -> Vec<String> {
        let begun_ms = self.from_ms.unwrap_or(0.0);
        let from_ms = begun_ms.max(self.until_ms - MOST_MS);
        // Threads of the program's own belong to no pool.
        self.pools.retain(|_, pool| pool.threads.values().any(|thread| !thread.changes.is_empty()));
        for pool in self.pools.values_mut() {
            pool.threads.retain(|_, thread| !thread.changes.is_empty());
            pool.steals.sort_by(|a, b| a.0.total_cmp(&b.0));
            pool.wakes.sort_by(f64::total_cmp);
        }
        let slow = self.slow.iter().map(|(name, longest_ms)| SlowTask {
            name: Some(name.clone()),
            longest_ms: *longest_ms,
            ..SlowTask::default()
        });
        let mut slow: Vec<SlowTask> = slow.collect();
        slow.sort_by(|a, b| b.longest_ms.total_cmp(&a.longest_ms));
        let note = format!(
            "A recording of {:.1} s{}. A card is a thread; its queued jobs are the jobs and tasks that were counted in its queues, and there are \
             no tables of tasks and ticks.",
            (self.until_ms - begun_ms) / 1e3,
            if from_ms > begun_ms { ", of which the last 30 are shown" } else { "" }
        );
        let steps = ((self.until_ms - from_ms) / EVERY_MS).ceil() as u64;
        (0..=steps)
            .map(|seq| {
                let at_ms = from_ms + seq as f64 * EVERY_MS;
                let frame = Frame {
                    seq,
                    at_ms: at_ms - begun_ms,
                    program: "a recording".into(),
                    pools: self.pools.iter().map(|(id, pool)| pool.frame(*id, at_ms, begun_ms)).collect(),
                    slow: slow.clone(),
                    demo: Some(DemoNow { runs: false, note: note.clone() }),
                    is_recording: true,
                    ..Frame::default()
                };
                frame.to_json()
            })
            .collect()
    }
}

impl Thread {
    /// It is inside of this from here on.
    fn note(&mut self, at_ms: f64, innermost: Option<&Slice>) {
        let (state, does) = match innermost.map(|slice| (slice.kind.as_str(), slice.name.as_str())) {
            None => (State::Searching, ""),
            Some(("idle", "parked")) => (State::Parked, ""),
            Some(("idle", _)) => (State::Searching, ""),
            Some(("wait", _)) => (State::Waiting, ""),
            Some(("poll", _)) => (State::Working, "poll"),
            Some(("tick", _)) => (State::Working, "tick"),
            Some(_) => (State::Working, "job"),
        };
        let runs = innermost.filter(|slice| !does.is_empty() && slice.name != "job");
        let runs = runs.map_or_else(String::new, |slice| slice.name.clone());
        self.changes.push((at_ms, state, Inside { does, runs, since_ms: 0.0 }));
    }
}

/// The last entry that is not later.
fn at<T>(entries: &[T], at_ms: f64, when: impl Fn(&T) -> f64) -> Option<&T> {
    entries[..entries.partition_point(|entry| when(entry) <= at_ms)].last()
}

impl Pool {
    fn frame(&self, id: u64, at_ms: f64, begun_ms: f64) -> PoolFrame {
        let place = |tid: u64| self.threads.keys().position(|other| *other == tid).map(|place| place as u16);
        let worker = |(index, thread): (u16, &Thread)| {
            let (state, inside) = match at(&thread.changes, at_ms, |change| change.0) {
                Some((_, state, inside)) => (*state, inside.clone()),
                None => (State::Parked, Inside::default()),
            };
            let jobs = at(&thread.queued, at_ms, |queued| queued.0).map_or(0, |queued| queued.1);
            WorkerRow { index, name: thread.name.clone(), state, inside, jobs, ..WorkerRow::default() }
        };
        let seen = self.steals.partition_point(|steal| steal.0 <= at_ms);
        let before = self.steals.partition_point(|steal| steal.0 <= at_ms - EVERY_MS);
        let arrow = |steal: &(f64, u64, u64)| Some((steal.0 - begun_ms, place(steal.1)?, place(steal.2)?));
        let mut arrows: Vec<_> = self.steals[before..seen].iter().filter_map(arrow).collect();
        let arrows_left = arrows.len().saturating_sub(MOST_ARROWS);
        arrows.drain(..arrows_left);
        PoolFrame {
            id,
            name: self.name.clone(),
            active: self.threads.len(),
            workers: (0..).zip(self.threads.values()).map(worker).collect(),
            injected_jobs: at(&self.injected, at_ms, |entry| entry.0).map_or(0, |entry| entry.1),
            steals: seen as u64,
            wakes: self.wakes.partition_point(|wake| *wake <= at_ms) as u64,
            arrows,
            arrows_left,
            ..PoolFrame::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_becomes_frames() {
        let mut replay = Replay::default();
        for line in [
            r#"{"ph":"M","pid":1,"name":"process_name","args":{"name":"heist pool 1"}},"#,
            r#"{"ph":"M","pid":1,"tid":7,"name":"thread_name","args":{"name":"heist-7"}},"#,
            r#"{"ph":"B","pid":1,"tid":3,"ts":0.0,"cat":"job","name":"job","args":{}},"#,
            r#"{"ph":"B","pid":1,"tid":7,"ts":0.0,"cat":"idle","name":"parked","args":{}},"#,
            r#"{"ph":"C","pid":1,"ts":10000.0,"name":"queued by thread 3","args":{"value":5}},"#,
            r#"{"ph":"E","pid":1,"tid":7,"ts":60000.0},"#,
            r#"{"ph":"i","s":"t","pid":1,"tid":7,"ts":70000.0,"cat":"heist","name":"steal","args":{"from":3}},"#,
            r#"{"ph":"B","pid":1,"tid":7,"ts":70000.0,"cat":"poll","name":"</script>","args":{}},"#,
            r#"{"ph":"E","pid":1,"tid":7,"ts":110000.0},"#,
            "]",
        ] {
            replay.line(line).unwrap();
        }
        let frames: Vec<serde_json::Value> =
            replay.finish().iter().map(|frame| serde_json::from_str(frame).unwrap()).collect();
        assert_eq!(frames.len(), 4);
        let workers = |n: usize| &frames[n]["pools"][0]["workers"];
        assert_eq!((&workers(0)[0]["state"], &workers(0)[1]["state"]), (&"working".into(), &"parked".into()));
        assert_eq!((&workers(2)[0]["jobs"], &workers(2)[1]["runs"]), (&5.into(), &"</script>".into()));
        assert_eq!(workers(1)[1]["name"], "heist-7");
        let arrows: Vec<_> = frames.iter().map(|frame| frame["pools"][0]["arrows"].to_string()).collect();
        assert_eq!(arrows, ["[]", "[]", "[[70.0,0,1]]", "[]"]);
        assert_eq!(frames[3]["slow"][0]["longest"], 40.0);
    }
}
