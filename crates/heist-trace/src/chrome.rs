//! Chrome trace-event JSON, the format that Perfetto and chrome://tracing open, in its array form: valid without its end, so that what a
//! program has written before a crash can be read.

use crate::inside::{Inside, Slice, Step};
use crate::{Event, Kind, ReadError, Trace};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{self, BufWriter, Read, Write};

/// The process of threads that are in no pool. Where others have their index, their events have the pool that they mean, or 0.
const NO_POOL: u32 = 0;

/// The process that stands for the pool of a [`Trace`].
const ONE_POOL: u32 = 1;

pub(crate) fn write(trace: &Trace, w: &mut dyn Write) -> io::Result<()> {
    let mut out = ChromeWriter::new(BufWriter::new(w))?;
    out.process(ONE_POOL, "heist")?;
    for (number, name) in trace.threads() {
        out.thread(ONE_POOL, number, name)?;
    }
    for event in trace.events() {
        out.event(ONE_POOL, event, |number| trace.name(number))?;
    }
    out.lost(ONE_POOL, trace.lost())?;
    out.finish(trace.range_ns().1)?.flush()
}

/// Converts a binary trace without holding it in memory.
pub(crate) fn convert(r: &mut dyn Read, w: &mut dyn Write) -> Result<(), ReadError> {
    let mut out = ChromeWriter::new(BufWriter::new(w))?;
    let mut head = None;
    let (mut until_ns, mut failed) = (0, None);
    let lost = std::cell::Cell::new(0);
    // Both closures need the writer, one after the other.
    let shared = std::cell::RefCell::new((&mut out, &mut head));
    crate::binary::stream(
        r,
        |found| {
            lost.set(found.lost);
            *shared.borrow_mut().1 = Some(found);
        },
        |event| {
            until_ns = event.at_ns;
            if failed.is_some() {
                return;
            }
            let mut shared = shared.borrow_mut();
            let (out, head) = &mut *shared;
            let Some(head) = head.as_ref() else { return };
            failed = out.event(ONE_POOL, &event, |number| head.names.get(&number).map(String::as_str)).err();
        },
    )?;
    if let Some(error) = failed {
        return Err(ReadError::Io(error));
    }
    out.process(ONE_POOL, "heist")?;
    for (number, name) in head.iter().flat_map(|head| &head.threads) {
        out.thread(ONE_POOL, *number, name)?;
    }
    out.lost(ONE_POOL, lost.get())?;
    Ok(out.finish(until_ns)?.flush()?)
}

/// Writes events as Chrome trace-event JSON, one at a time. Events of one thread come in their order; those of different threads need not.
///
/// A program that ends in the middle leaves a file that viewers open: every item is written whole, and the array needs no end.
///
/// ```
/// use heist::trace::{ChromeWriter, Event, Kind};
/// let at = |at_ns, kind| Event { at_ns, kind, thread: 0, worker: Some(0), arg: 0 };
/// let mut out = ChromeWriter::new(Vec::new())?;
/// out.event(1, &at(5, Kind::JobStart), |_| None)?;
/// out.event(1, &at(9, Kind::JobEnd), |_| None)?;
/// let json = String::from_utf8(out.finish(9)?)?;
/// assert!(json.contains(r#""ph":"B""#) && json.contains(r#""ph":"E""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ChromeWriter<W> {
    w: W,
    state: State,
}

/// What has been written so far.
#[derive(Debug)]
struct State {
    /// One item, made before it is written.
    item: String,
    is_first: bool,
    threads: BTreeMap<(u32, u16), Inside>,
    /// What the present event means for its thread.
    steps: Vec<Step>,
    /// How many arrows there are whose number nobody else knows.
    arrows: u64,
}

impl<W: Write> ChromeWriter<W> {
    /// Begins the array.
    ///
    /// # Errors
    /// Those of the writer, here and below.
    ///
    /// ```
    /// let out = heist::trace::ChromeWriter::new(Vec::new())?;
    /// assert_eq!(out.finish(0)?, b"[\n]\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new(mut w: W) -> io::Result<Self> {
        w.write_all(b"[")?;
        let state = State {
            item: String::new(),
            is_first: true,
            threads: BTreeMap::new(),
            steps: Vec::new(),
            arrows: 0,
        };
        Ok(Self { w, state })
    }

    /// What it writes to.
    ///
    /// ```
    /// assert_eq!(heist::trace::ChromeWriter::new(Vec::new())?.get_mut(), b"[");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.w
    }

    /// Names a process, which is what viewers call a pool.
    ///
    /// # Errors
    /// Those of the writer.
    ///
    /// ```
    /// let mut out = heist::trace::ChromeWriter::new(Vec::new())?;
    /// out.process(1, "pool 1")?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn process(&mut self, pool: u32, name: &str) -> io::Result<()> {
        self.items().process(pool, name)
    }

    /// Names a thread of a pool.
    ///
    /// # Errors
    /// Those of the writer.
    ///
    /// ```
    /// let mut out = heist::trace::ChromeWriter::new(Vec::new())?;
    /// out.thread(1, 0, "worker 0")?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn thread(&mut self, pool: u32, number: u16, name: &str) -> io::Result<()> {
        self.items().thread(pool, number, name)
    }

    /// Says how many events of a pool are missing.
    ///
    /// # Errors
    /// Those of the writer.
    ///
    /// ```
    /// let mut out = heist::trace::ChromeWriter::new(Vec::new())?;
    /// out.lost(1, 12)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn lost(&mut self, pool: u32, lost: u64) -> io::Result<()> {
        self.items().lost(pool, lost)
    }

    /// A point of a graph.
    ///
    /// # Errors
    /// Those of the writer.
    ///
    /// ```
    /// let mut out = heist::trace::ChromeWriter::new(Vec::new())?;
    /// out.counter(1, 5_000, "injected jobs", 3)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn counter(&mut self, pool: u32, at_ns: u64, name: &str, value: i64) -> io::Result<()> {
        self.items().counter(pool, at_ns, name, value)
    }

    /// An event of a pool's thread. `name` says what a [number of a name](crate::name) means.
    ///
    /// # Errors
    /// Those of the writer.
    ///
    /// ```
    /// use heist::trace::{ChromeWriter, Event, Kind};
    /// let mut out = ChromeWriter::new(Vec::new())?;
    /// out.event(1, &Event::now(Kind::Park, 0, None, 0), heist::trace::name::text)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn event<'a>(
        &mut self,
        pool: u32,
        event: &Event,
        name: impl FnOnce(u32) -> Option<&'a str>,
    ) -> io::Result<()> {
        let mut name = Some(name);
        self.items().event(pool, event, &mut |number| name.take().and_then(|name| name(number)))
    }

    /// There is nothing more to come of a pool: what is still open there ends at `at_ns`.
    ///
    /// # Errors
    /// Those of the writer.
    ///
    /// ```
    /// let mut out = heist::trace::ChromeWriter::new(Vec::new())?;
    /// out.forget(1, 0)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn forget(&mut self, pool: u32, at_ns: u64) -> io::Result<()> {
        self.items().forget(pool, at_ns)
    }

    /// Ends everything that is still open, at `until_ns`, and the array. Returns what it has written to.
    ///
    /// # Errors
    /// Those of the writer.
    ///
    /// ```
    /// assert_eq!(heist::trace::ChromeWriter::new(Vec::new())?.finish(0)?, b"[\n]\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn finish(mut self, until_ns: u64) -> io::Result<W> {
        self.items().finish(until_ns)?;
        Ok(self.w)
    }

    fn items(&mut self) -> Items<'_> {
        Items { w: &mut self.w, state: &mut self.state }
    }
}

/// Says what a number of a name means.
type Names<'n, 'a> = &'n mut dyn FnMut(u32) -> Option<&'a str>;

/// All of it that does not depend on who writes.
struct Items<'w> {
    w: &'w mut dyn Write,
    state: &'w mut State,
}

impl Items<'_> {
    fn process(&mut self, pool: u32, name: &str) -> io::Result<()> {
        self.put(format_args!(
            r#""ph":"M","pid":{pool},"name":"process_name","args":{{"name":{}}}"#,
            Quoted(name)
        ))
    }

    fn thread(&mut self, pool: u32, number: u16, name: &str) -> io::Result<()> {
        self.put(format_args!(
            r#""ph":"M","pid":{pool},"tid":{number},"name":"thread_name","args":{{"name":{}}}"#,
            Quoted(name)
        ))?;
        self.put(format_args!(
            r#""ph":"M","pid":{pool},"tid":{number},"name":"thread_sort_index","args":{{"sort_index":{number}}}"#
        ))
    }

    fn lost(&mut self, pool: u32, lost: u64) -> io::Result<()> {
        self.put(format_args!(r#""ph":"M","pid":{pool},"name":"heist_lost_events","args":{{"lost":{lost}}}"#))
    }

    fn counter(&mut self, pool: u32, at_ns: u64, name: &str, value: i64) -> io::Result<()> {
        self.put(format_args!(
            r#""ph":"C","pid":{pool},"ts":{},"name":{},"args":{{"value":{value}}}"#,
            Micros(at_ns),
            Quoted(name)
        ))
    }

    fn event<'a>(&mut self, pool: u32, event: &Event, name: Names<'_, 'a>) -> io::Result<()> {
        let State { threads, steps, .. } = &mut *self.state;
        let thread = threads.entry((pool, event.thread)).or_default();
        let mut steps = std::mem::take(steps);
        let said = thread.take(event, &mut |step| steps.push(step));
        let name = said.filter(|said| said.name != 0).and_then(|said| name(said.name));
        let result = steps.drain(..).try_for_each(|step| self.step(pool, event, step, name));
        self.state.steps = steps;
        result?;
        match said {
            Some(said) => self.beside(pool, event, said.high, name),
            None => Ok(()),
        }
    }

    /// Edges of slices.
    fn step(&mut self, pool: u32, event: &Event, step: Step, name: Option<&str>) -> io::Result<()> {
        let &Event { at_ns, thread: tid, .. } = event;
        match step {
            Step::Began(slice) => self.begin(pool, event, &slice, name),
            Step::Ended { slice, asleep_us, is_known } => {
                if asleep_us > 0 {
                    // When it was asleep is not known; for how long is.
                    let from_ns = at_ns.saturating_sub(u64::from(asleep_us) * 1_000).max(slice.start_ns);
                    self.put(format_args!(
                        r#""ph":"X","pid":{pool},"tid":{tid},"ts":{},"dur":{},"cat":"wait","name":"asleep in the kernel","args":{{"us":{asleep_us},"position":"unknown"}}"#,
                        Micros(from_ns),
                        Micros(at_ns.saturating_sub(from_ns))
                    ))?;
                }
                self.end(pool, tid, at_ns, is_known)
            }
            Step::EndedUnbegun { since_ns, .. } => self.put(format_args!(
                r#""ph":"X","pid":{pool},"tid":{tid},"ts":{},"dur":{},"cat":"heist","name":"{}","args":{{"start_unknown":true}}"#,
                Micros(since_ns),
                Micros(at_ns.saturating_sub(since_ns)),
                event.kind.name().trim_end_matches(" end")
            )),
        }
    }

    /// What is no edge of a slice.
    fn beside(&mut self, pool: u32, event: &Event, high: Option<u32>, name: Option<&str>) -> io::Result<()> {
        let &Event { at_ns, kind, thread: tid, arg, .. } = event;
        match kind {
            Kind::Gap => self.mark(pool, event, "lost", None),
            Kind::Steal => self.mark(pool, event, "from", None),
            Kind::Ready => self.put(format_args!(
                r#""ph":"s","cat":"wake","name":"wake","pid":{pool},"tid":{tid},"ts":{},"id":{arg}"#,
                Micros(at_ns)
            )),
            Kind::Wake => {
                self.mark(pool, event, "woke", None)?;
                // A thread of no pool says which one it means.
                let of = if pool == NO_POOL { event.worker.map_or(pool, u32::from) } else { pool };
                if of == pool && arg == u32::from(tid) {
                    return Ok(());
                }
                self.arrow("unpark", (pool, tid.into()), (of, arg as u16), at_ns)
            }
            Kind::Spawn => self.mark(pool, event, "id", name),
            Kind::Lend | Kind::Return => self.mark(pool, event, "index", None),
            Kind::Late => self.mark(pool, event, "us", None),
            Kind::Counter => {
                let high = high.unwrap_or((arg as i32 >> 31) as u32);
                let value = (u64::from(high) << 32 | u64::from(arg)) as i64;
                self.counter(pool, at_ns, name.unwrap_or("counter"), value)
            }
            _ => Ok(()),
        }
    }

    fn forget(&mut self, pool: u32, at_ns: u64) -> io::Result<()> {
        let others = self.state.threads.split_off(&(pool, 0));
        let (gone, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            others.into_iter().partition(|((of, _), _)| *of == pool);
        self.state.threads.extend(others);
        for ((_, tid), mut thread) in gone {
            self.close(pool, tid, at_ns, &mut thread)?;
        }
        Ok(())
    }

    fn finish(&mut self, until_ns: u64) -> io::Result<()> {
        for ((pool, tid), mut thread) in std::mem::take(&mut self.state.threads) {
            self.close(pool, tid, until_ns, &mut thread)?;
        }
        self.w.write_all(b"\n]\n")
    }

    /// Ends whatever the thread is inside of.
    fn close(&mut self, pool: u32, tid: u16, at_ns: u64, thread: &mut Inside) -> io::Result<()> {
        let mut steps = Vec::new();
        thread.close(&mut |step| steps.push(step));
        steps.into_iter().try_for_each(|step| match step {
            Step::Ended { is_known, .. } => self.end(pool, tid, at_ns, is_known),
            _ => Ok(()),
        })
    }

    fn begin(&mut self, pool: u32, event: &Event, slice: &Slice, name: Option<&str>) -> io::Result<()> {
        let &Event { at_ns, thread: tid, worker, .. } = event;
        let &Slice { kind, arg, from, .. } = slice;
        let (category, plain) = match kind {
            Kind::JobStart => ("job", "job"),
            Kind::PollStart => ("poll", "task"),
            Kind::TickStart => ("tick", "tick"),
            Kind::SpanStart => ("span", "span"),
            Kind::Park => ("idle", "parked"),
            Kind::Search => ("idle", "searching"),
            _ => ("wait", "blocked"),
        };
        let mut args = String::new();
        let mut add = |key: &str, value: u32| {
            let comma = if args.is_empty() { "" } else { "," };
            let _ = write!(args, r#"{comma}"{key}":{value}"#);
        };
        worker.filter(|_| pool != NO_POOL).into_iter().for_each(|index| add("worker", index.into()));
        from.into_iter().for_each(|victim| add("from", victim));
        if arg != 0 {
            add("id", arg);
        }
        self.put(format_args!(
            r#""ph":"B","pid":{pool},"tid":{tid},"ts":{},"cat":"{category}","name":{},"args":{{{args}}}"#,
            Micros(at_ns),
            Quoted(name.unwrap_or(plain))
        ))?;
        if kind == Kind::PollStart {
            self.put(format_args!(
                r#""ph":"f","bp":"e","cat":"wake","name":"wake","pid":{pool},"tid":{tid},"ts":{},"id":{arg}"#,
                Micros(at_ns)
            ))?;
        }
        from.map_or(Ok(()), |victim| self.arrow("steal", (pool, victim), (pool, tid), at_ns))
    }

    fn end(&mut self, pool: u32, tid: u16, at_ns: u64, is_known: bool) -> io::Result<()> {
        let unknown = if is_known { "" } else { r#","args":{"end_unknown":true}"# };
        self.put(format_args!(r#""ph":"E","pid":{pool},"tid":{tid},"ts":{}{unknown}"#, Micros(at_ns)))
    }

    /// An arrow from one thread to another. Both ends bind to the slice that surrounds them.
    fn arrow(&mut self, name: &str, from: (u32, u32), to: (u32, u16), at_ns: u64) -> io::Result<()> {
        self.state.arrows += 1;
        let tail =
            format!(r#""id":{},"ts":{},"cat":"{name}","name":"{name}""#, self.state.arrows, Micros(at_ns));
        self.put(format_args!(r#""ph":"s","pid":{},"tid":{},{tail}"#, from.0, from.1))?;
        self.put(format_args!(r#""ph":"f","bp":"e","pid":{},"tid":{},{tail}"#, to.0, to.1))
    }

    /// A mark for an event that is not the edge of a slice.
    fn mark(&mut self, pool: u32, event: &Event, key: &str, name: Option<&str>) -> io::Result<()> {
        let &Event { at_ns, kind, thread: tid, arg, .. } = event;
        self.put(format_args!(
            r#""ph":"i","s":"t","pid":{pool},"tid":{tid},"ts":{},"cat":"heist","name":{},"args":{{"{key}":{arg}}}"#,
            Micros(at_ns),
            Quoted(name.unwrap_or(kind.name()))
        ))
    }

    /// Writes one object, given what stands between its braces, in one go.
    fn put(&mut self, body: fmt::Arguments<'_>) -> io::Result<()> {
        self.state.item.clear();
        let comma = if std::mem::take(&mut self.state.is_first) { "" } else { "," };
        let _ = write!(self.state.item, "{comma}\n{{{body}}}");
        self.w.write_all(self.state.item.as_bytes())
    }
}

/// A time as the format wants it, in microseconds, without a detour over floats.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// A JSON string.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\0'..='\x1f' => write!(f, "\\u{:04x}", u32::from(c))?,
                _ => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use crate::Lost;
    use serde_json::{Value, json};

    fn parsed(trace: &Trace) -> Vec<Value> {
        let mut text = Vec::new();
        trace.write_chrome(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn items(json: &[Value], phase: &str) -> Vec<Value> {
        json.iter().filter(|e| e["ph"] == phase).cloned().collect()
    }

    fn at(at_ns: u64, thread: u16, kind: Kind, arg: u32) -> Event {
        Event { at_ns, kind, thread, worker: Some(thread), arg }
    }

    #[test]
    fn an_empty_trace_is_valid() {
        assert_eq!(items(&parsed(&Trace::default()), "B"), [] as [Value; 0]);
    }

    #[test]
    fn names_survive_whatever_they_contain() {
        let name = "w\"0\\\n\u{1}\u{7f} \u{fc}\u{1f980}";
        let json = parsed(&Trace::builder().thread(3, name).finish());
        let meta = items(&json, "M");
        assert_eq!(meta[1], json!({"ph":"M","pid":1,"tid":3,"name":"thread_name","args":{"name":name}}));
    }

    #[test]
    fn a_stolen_job_is_a_slice_with_an_arrow_from_its_victim() {
        use Kind::*;
        let trace = Trace::builder()
            .events([
                at(0, 0, JobStart, 0),
                at(1_500, 1, Steal, 0),
                at(2_000, 1, JobStart, 9),
                at(2_000, 1, JobStart, 0),
                at(2_750, 1, JobEnd, 0),
                at(3_001, 1, JobEnd, 9),
            ])
            .finish();
        let json = parsed(&trace);
        let begins = items(&json, "B");
        assert_eq!(
            begins[1],
            json!({"ph":"B","pid":1,"tid":1,"ts":2.0,"cat":"job","name":"job","args":{"worker":1,"from":0,"id":9}})
        );
        assert_eq!(begins[2]["args"], json!({"worker":1}), "only the first is stolen");
        let ends: Vec<_> = items(&json, "E").iter().map(|e| (e["tid"].clone(), e["ts"].clone())).collect();
        assert_eq!(ends, [(json!(1), json!(2.75)), (json!(1), json!(3.001)), (json!(0), json!(3.001))]);
        let (starts, ends) = (items(&json, "s"), items(&json, "f"));
        assert_eq!((starts.len(), ends.len()), (1, 1));
        assert_eq!((&starts[0]["tid"], &ends[0]["tid"]), (&json!(0), &json!(1)));
        assert_eq!(starts[0]["id"], ends[0]["id"]);
        assert_eq!(items(&json, "i")[0]["args"], json!({"from":0}));
    }

    #[test]
    fn a_poll_has_its_tasks_name_and_an_arrow_from_what_woke_it() {
        use Kind::*;
        let trace = Trace::builder()
            .name(4, "</script>")
            .events([
                at(1_000, 0, Ready, 77),
                at(2_000, 1, Name, 4),
                at(2_000, 1, PollStart, 77),
                at(3_000, 1, Asleep, 400),
                at(3_000, 1, PollEnd, 77),
            ])
            .finish();
        let json = parsed(&trace);
        assert_eq!(items(&json, "B")[0]["name"], "</script>");
        let (starts, ends) = (items(&json, "s"), items(&json, "f"));
        assert_eq!((&starts[0]["id"], &starts[0]["ts"]), (&json!(77), &json!(1.0)));
        assert_eq!((&ends[0]["id"], &ends[0]["tid"]), (&json!(77), &json!(1)));
        // It cannot have been asleep for longer than it has lasted.
        let asleep = &items(&json, "X")[0];
        assert_eq!(
            (&asleep["ts"], &asleep["dur"], &asleep["args"]["us"]),
            (&json!(2.0), &json!(1.0), &json!(400))
        );
    }

    #[test]
    fn spans_and_counters_are_the_programs() {
        use Kind::*;
        let counted = |value: i64| {
            let (low, high) = (value as u32, (value >> 32) as u32);
            [at(5, 0, High, high), at(5, 0, Name, 2), at(5, 0, Counter, low)]
        };
        let trace = Trace::builder()
            .name(1, "parse")
            .name(2, "bytes")
            .events([at(1, 0, Name, 1), at(1, 0, SpanStart, 0)])
            .events(counted(1 << 40))
            .events(counted(-3))
            .events([at(6, 0, Name, 2), at(6, 0, Counter, -9_i32 as u32), at(7, 0, SpanEnd, 0)])
            .finish();
        let json = parsed(&trace);
        assert_eq!(items(&json, "B")[0]["name"], "parse");
        let values: Vec<_> = items(&json, "C").iter().map(|c| c["args"]["value"].clone()).collect();
        assert_eq!(values, [json!(1_i64 << 40), json!(-3), json!(-9)]);
    }

    #[test]
    fn parks_blocks_marks_and_losses_are_shown() {
        use Kind::*;
        let trace = Trace::builder()
            .batch(0, [at(1, 0, Park, 0)], Lost(5))
            .events([at(2, 1, Block, 0), at(2, 1, Lend, 1), at(4, 1, Return, 1), at(4, 1, Unblock, 0)])
            .events([at(5, 1, Wake, 0)])
            .finish();
        let json = parsed(&trace);
        assert!(json.contains(&json!({"ph":"M","pid":1,"name":"heist_lost_events","args":{"lost":5}})));
        let names = |phase| -> Vec<String> {
            items(&json, phase).iter().map(|e| format!("{} {}", e["name"], e["args"])).collect()
        };
        assert_eq!(names("B"), [r#""parked" {"worker":0}"#, r#""blocked" {"worker":1}"#]);
        let marks = [
            r#""gap" {"lost":5}"#,
            r#""lend" {"index":1}"#,
            r#""return" {"index":1}"#,
            r#""wake" {"woke":0}"#,
        ];
        assert_eq!(names("i"), marks);
    }

    #[test]
    fn what_had_begun_before_is_shown_from_the_threads_first_event_on() {
        let trace =
            Trace::builder().events([at(3_000, 0, Kind::Lend, 0), at(5_000, 0, Kind::JobEnd, 0)]).finish();
        let slice = &items(&parsed(&trace), "X")[0];
        assert_eq!((&slice["ts"], &slice["dur"], &slice["name"]), (&json!(3.0), &json!(2.0), &json!("job")));
    }

    proptest::proptest! {
        #[test]
        fn any_trace_makes_valid_json_in_which_every_slice_ends(trace in crate::arbitrary::any_trace()) {
            let json = parsed(&trace);
            let mut depths: BTreeMap<u64, i64> = BTreeMap::new();
            for item in &json {
                let depth = depths.entry(item["tid"].as_u64().unwrap_or(0)).or_default();
                match item["ph"].as_str() {
                    Some("B") => *depth += 1,
                    Some("E") => *depth -= 1,
                    _ => {}
                }
                proptest::prop_assert!(*depth >= 0);
            }
            proptest::prop_assert!(depths.values().all(|&depth| depth == 0));
        }

        #[test]
        fn a_file_is_converted_to_the_same_items_as_a_trace(trace in crate::arbitrary::any_trace()) {
            let (mut binary, mut converted) = (Vec::new(), Vec::new());
            trace.write_binary(&mut binary).unwrap();
            convert(&mut &binary[..], &mut converted).unwrap();
            let mut converted: Vec<Value> = serde_json::from_slice(&converted).unwrap();
            let mut whole = parsed(&trace);
            let of = |items: &mut Vec<Value>| items.retain(|item| item["ph"] != "M");
            of(&mut converted);
            of(&mut whole);
            proptest::prop_assert_eq!(converted, whole);
        }
    }
}
