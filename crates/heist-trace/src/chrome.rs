//! Chrome trace-event JSON, the format that Perfetto and chrome://tracing open, in its array form: valid without its end, so that what a
//! program has written before a crash can be read.

mod arrows;

use crate::inside::{Inside, Slice, Step};
use crate::{Event, Kind, ReadError, Trace};
use arrows::{End, Track, Wakes};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io::{self, BufWriter, Read, Write};

/// The process of threads that are in no pool. Where others have their index, their events have the pool that they mean, or 0.
const NO_POOL: u32 = 0;

/// What that process is in a file: viewers take a process 0, and a thread 0, for the system's own idle ones.
const NO_POOL_PID: u32 = i32::MAX as u32;

/// How much earlier than a gap slices end that were open there.
const GAP_NS: u64 = 1_000;

/// A pool as a file calls it.
fn pid(pool: u32) -> u32 {
    if pool == NO_POOL { NO_POOL_PID } else { pool }
}

/// A thread as a file calls it, wherever it does.
fn tid(thread: impl Into<u32>) -> u32 {
    thread.into() + 1
}

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
    threads: BTreeMap<(u32, u16), Thread>,
    /// By process and thread as in the file: an arrow may lead to a thread of which nothing has been seen.
    tracks: BTreeMap<(u32, u32), Track>,
    /// What the present event means for its thread.
    steps: Vec<Step>,
    /// How many arrows there are.
    arrows: u64,
    wakes: Wakes,
}

/// A thread of a pool.
#[derive(Debug, Default)]
struct Thread {
    inside: Inside,
    /// How many slices it is inside of, in the file.
    depth: usize,
    /// When the last of its slices has begun or ended.
    edge_ns: u64,
    /// How many slices have ended whose beginning is unknown.
    unbegun: u64,
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
            tracks: BTreeMap::new(),
            steps: Vec::new(),
            arrows: 0,
            wakes: Wakes::default(),
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
            r#""ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}"#,
            pid(pool),
            Quoted(name)
        ))
    }

    fn thread(&mut self, pool: u32, number: u16, name: &str) -> io::Result<()> {
        let of = (pid(pool), tid(number));
        self.put(format_args!(
            r#""ph":"M",{}"name":"thread_name","args":{{"name":{}}}"#,
            Place(of),
            Quoted(name)
        ))?;
        self.put(format_args!(
            r#""ph":"M",{}"name":"thread_sort_index","args":{{"sort_index":{number}}}"#,
            Place(of)
        ))
    }

    fn lost(&mut self, pool: u32, lost: u64) -> io::Result<()> {
        let pid = pid(pool);
        self.put(format_args!(r#""ph":"M","pid":{pid},"name":"heist_lost_events","args":{{"lost":{lost}}}"#))
    }

    fn counter(&mut self, pool: u32, at_ns: u64, name: &str, value: i64) -> io::Result<()> {
        self.put(format_args!(
            r#""ph":"C","pid":{},"ts":{},"name":{},"args":{{"value":{value}}}"#,
            pid(pool),
            Micros(at_ns),
            Quoted(name)
        ))
    }

    fn event<'a>(&mut self, pool: u32, event: &Event, name: Names<'_, 'a>) -> io::Result<()> {
        let State { threads, tracks, steps, .. } = &mut *self.state;
        let thread = threads.entry((pool, event.thread)).or_default();
        let mut steps = std::mem::take(steps);
        let said = thread.inside.take(event, &mut |step| steps.push(step));
        let arrows = tracks.entry((pid(pool), tid(event.thread))).or_default().see(event.at_ns);
        arrows.iter().try_for_each(|item| self.put(format_args!("{item}")))?;
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
        let &Event { at_ns, thread, .. } = event;
        let (pid, tid) = (pid(pool), tid(thread));
        match step {
            Step::Began(slice) => self.begin(pool, event, &slice, name),
            Step::Ended { asleep_us, is_known, .. } => {
                if asleep_us > 0 {
                    // When it was asleep is not known; for how long is. What it is drawn over contains no edge of another slice.
                    let edge_ns = self.known(pool, thread).edge_ns;
                    let from_ns = at_ns.saturating_sub(u64::from(asleep_us) * 1_000).max(edge_ns);
                    self.put(format_args!(
                        r#""ph":"X","pid":{pid},"tid":{tid},"ts":{},"dur":{},"cat":"wait","name":"asleep in the kernel","args":{{"us":{asleep_us},"position":"unknown"}}"#,
                        Micros(from_ns),
                        Micros(at_ns.saturating_sub(from_ns))
                    ))?;
                }
                // What ends by a gap has ended at some time before, and what comes from there may have begun before.
                let until_ns = match event.kind {
                    Kind::Gap => at_ns.saturating_sub(GAP_NS).max(self.known(pool, thread).edge_ns),
                    _ => at_ns,
                };
                self.end(pool, thread, until_ns, is_known)
            }
            Step::EndedUnbegun { since_ns, .. } => {
                let known = self.known(pool, thread);
                // It would surround what has begun and not ended.
                if known.depth > 0 {
                    return Ok(());
                }
                // It surrounds all that has ended so far, and so begins before that.
                known.unbegun = (known.unbegun + 1).min(GAP_NS);
                known.edge_ns = at_ns;
                let from_ns = since_ns.saturating_sub(known.unbegun);
                self.put(format_args!(
                    r#""ph":"X","pid":{pid},"tid":{tid},"ts":{},"dur":{},"cat":"heist","name":"{}","args":{{"start_unknown":true}}"#,
                    Micros(from_ns),
                    Micros(at_ns.saturating_sub(from_ns)),
                    event.kind.name().trim_end_matches(" end")
                ))
            }
        }
    }

    /// What is no edge of a slice.
    fn beside(&mut self, pool: u32, event: &Event, high: Option<u32>, name: Option<&str>) -> io::Result<()> {
        let &Event { at_ns, kind, thread, arg, .. } = event;
        match kind {
            Kind::Gap => self.mark(pool, event, "lost", arg, None),
            Kind::Steal => self.mark(pool, event, "from", tid(arg), None),
            Kind::Ready => {
                let is_bare = self.known(pool, thread).depth == 0;
                let number = self.next_arrow();
                let begin = format!(r#"{},"args":{{"task":{arg}}}"#, tail("wake", number, at_ns));
                self.begin_arrow(pool, event, is_bare.then_some(("id", arg)), &begin)?;
                match self.state.wakes.ready(arg, at_ns, number) {
                    Some((at_ns, by)) => {
                        let tail = tail("wake", number, at_ns);
                        self.put_end(
                            by,
                            End { at_ns, item: format!(r#""ph":"f","bp":"e",{}{tail}"#, Place(by)) },
                        )
                    }
                    None => Ok(()),
                }
            }
            Kind::Wake => {
                // A thread of no pool says which one it means.
                let of = if pool == NO_POOL { event.worker.map_or(pool, u32::from) } else { pool };
                let (from, to) = ((pid(pool), tid(thread)), (pid(of), tid(arg)));
                let is_bare = self.known(pool, thread).depth == 0;
                if from == to || !is_bare {
                    self.mark(pool, event, "woke", tid(arg), None)?;
                }
                if from == to {
                    return Ok(());
                }
                let tail = tail("unpark", self.next_arrow(), at_ns);
                self.begin_arrow(pool, event, is_bare.then_some(("woke", tid(arg))), &tail)?;
                self.put_end(to, End { at_ns, item: format!(r#""ph":"f","bp":"e",{}{tail}"#, Place(to)) })
            }
            Kind::Spawn => self.mark(pool, event, "id", arg, name),
            Kind::Lend | Kind::Return => self.mark(pool, event, "index", arg, None),
            Kind::Late => self.mark(pool, event, "us", arg, None),
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
        gone.into_iter().try_for_each(|((_, thread), known)| self.close(pool, thread, at_ns, known))
    }

    fn finish(&mut self, until_ns: u64) -> io::Result<()> {
        for ((pool, thread), known) in std::mem::take(&mut self.state.threads) {
            self.close(pool, thread, until_ns, known)?;
        }
        self.w.write_all(b"\n]\n")
    }

    /// Ends whatever the thread is inside of, and forgets it.
    fn close(&mut self, pool: u32, thread: u16, at_ns: u64, mut known: Thread) -> io::Result<()> {
        let mut steps = Vec::new();
        known.inside.close(&mut |step| steps.push(step));
        self.state.threads.insert((pool, thread), known);
        let of = (pid(pool), tid(thread));
        let arrows = self.state.tracks.get_mut(&of).map_or_else(Vec::new, |track| track.see(at_ns));
        arrows.iter().try_for_each(|item| self.put(format_args!("{item}")))?;
        for step in steps {
            if let Step::Ended { is_known, .. } = step {
                self.end(pool, thread, at_ns, is_known)?;
            }
        }
        self.state.threads.remove(&(pool, thread));
        self.state.tracks.remove(&of);
        Ok(())
    }

    /// What is known of a thread.
    fn known(&mut self, pool: u32, thread: u16) -> &mut Thread {
        self.state.threads.entry((pool, thread)).or_default()
    }

    fn put_end(&mut self, of: (u32, u32), end: End) -> io::Result<()> {
        match self.state.tracks.entry(of).or_default().put(end) {
            Some(item) => self.put(format_args!("{item}")),
            None => Ok(()),
        }
    }

    fn begin(&mut self, pool: u32, event: &Event, slice: &Slice, name: Option<&str>) -> io::Result<()> {
        let &Event { at_ns, thread, worker, .. } = event;
        let &Slice { kind, arg, from, .. } = slice;
        let of = (pid(pool), tid(thread));
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
        from.into_iter().for_each(|victim| add("from", tid(victim)));
        if arg != 0 {
            add("id", arg);
        }
        self.put(format_args!(
            r#""ph":"B",{}"ts":{},"cat":"{category}","name":{},"args":{{{args}}}"#,
            Place(of),
            Micros(at_ns),
            Quoted(name.unwrap_or(plain))
        ))?;
        let known = self.known(pool, thread);
        let around = known.depth;
        (known.depth, known.edge_ns) = (around + 1, at_ns);
        self.state.tracks.entry(of).or_default().began(at_ns, around);
        if kind == Kind::PollStart
            && let Some(number) = self.state.wakes.polled(arg, at_ns, of)
        {
            self.put(format_args!(r#""ph":"f","bp":"e",{}{}"#, Place(of), tail("wake", number, at_ns)))?;
        }
        let Some(victim) = from else { return Ok(()) };
        let (victim, number) = ((of.0, tid(victim)), self.next_arrow());
        self.put(format_args!(r#""ph":"f","bp":"e",{}{}"#, Place(of), tail("steal", number, at_ns)))?;
        // It comes later in the file, and so it has to be earlier.
        let at_ns = at_ns.saturating_sub(1);
        let begin = format!(r#""ph":"s",{}{}"#, Place(victim), tail("steal", number, at_ns));
        self.put_end(victim, End { at_ns, item: begin })
    }

    fn end(&mut self, pool: u32, thread: u16, at_ns: u64, is_known: bool) -> io::Result<()> {
        let of = (pid(pool), tid(thread));
        let known = self.known(pool, thread);
        let around = known.depth.saturating_sub(1);
        (known.depth, known.edge_ns) = (around, at_ns);
        self.state.tracks.entry(of).or_default().ended(at_ns, around);
        let unknown = if is_known { "" } else { r#","args":{"end_unknown":true}"# };
        self.put(format_args!(r#""ph":"E",{}"ts":{}{unknown}"#, Place(of), Micros(at_ns)))
    }

    fn next_arrow(&mut self) -> u64 {
        self.state.arrows += 1;
        self.state.arrows
    }

    /// An arrow begins at an event, which is the shortest of slices if its thread is inside of nothing: `bare`, its argument. Viewers do not
    /// end one that has no length.
    fn begin_arrow(
        &mut self,
        pool: u32,
        event: &Event,
        bare: Option<(&str, u32)>,
        tail: &str,
    ) -> io::Result<()> {
        let (place, at) = (Place((pid(pool), tid(event.thread))), Micros(event.at_ns));
        if let Some((key, value)) = bare {
            let name = event.kind.name();
            self.put(format_args!(
                r#""ph":"B",{place}"ts":{at},"cat":"heist","name":"{name}","args":{{"{key}":{value}}}"#
            ))?;
        }
        self.put(format_args!(r#""ph":"s",{place}{tail}"#))?;
        if bare.is_none() {
            return Ok(());
        }
        let until_ns = event.at_ns.saturating_add(1);
        self.known(pool, event.thread).edge_ns = until_ns;
        self.put(format_args!(r#""ph":"E",{place}"ts":{}"#, Micros(until_ns)))
    }

    /// A mark for an event that is not the edge of a slice.
    fn mark(
        &mut self,
        pool: u32,
        event: &Event,
        key: &str,
        value: u32,
        name: Option<&str>,
    ) -> io::Result<()> {
        let &Event { at_ns, kind, thread, .. } = event;
        self.put(format_args!(
            r#""ph":"i","s":"t",{}"ts":{},"cat":"heist","name":{},"args":{{"{key}":{value}}}"#,
            Place((pid(pool), tid(thread))),
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

/// A process and a thread of it, as two fields with a comma behind.
struct Place((u32, u32));

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self((pid, tid)) = self;
        write!(f, r#""pid":{pid},"tid":{tid},"#)
    }
}

/// What both ends of an arrow say. They bind to the slices that surround them.
fn tail(name: &str, number: u64, at_ns: u64) -> String {
    format!(r#""cat":"{name}","name":"{name}","ts":{},"id":{number}"#, Micros(at_ns))
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
        assert_eq!(meta[1], json!({"ph":"M","pid":1,"tid":4,"name":"thread_name","args":{"name":name}}));
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
            json!({"ph":"B","pid":1,"tid":2,"ts":2.0,"cat":"job","name":"job","args":{"worker":1,"from":1,"id":9}})
        );
        assert_eq!(begins[2]["args"], json!({"worker":1}), "only the first is stolen");
        let ends: Vec<_> = items(&json, "E").iter().map(|e| (e["tid"].clone(), e["ts"].clone())).collect();
        assert_eq!(ends, [(json!(2), json!(2.75)), (json!(2), json!(3.001)), (json!(1), json!(3.001))]);
        let (starts, ends) = (items(&json, "s"), items(&json, "f"));
        assert_eq!((starts.len(), ends.len()), (1, 1));
        assert_eq!((&starts[0]["tid"], &ends[0]["tid"]), (&json!(1), &json!(2)));
        assert_eq!(starts[0]["id"], ends[0]["id"]);
        assert_eq!(items(&json, "i")[0]["args"], json!({"from":1}));
    }

    #[test]
    fn a_poll_has_its_tasks_name_and_an_arrow_from_what_woke_it() {
        use Kind::*;
        let trace = Trace::builder()
            .name(4, "</script>")
            .events([
                at(500, 0, Ready, 76),
                at(900, 0, JobStart, 0),
                at(1_000, 0, Ready, 77),
                at(2_000, 1, Name, 4),
                at(2_000, 1, PollStart, 77),
                at(3_000, 1, Asleep, 400),
                at(3_000, 1, PollEnd, 77),
            ])
            .finish();
        let json = parsed(&trace);
        assert_eq!(items(&json, "B")[2]["name"], "</script>");
        let (starts, ends) = (items(&json, "s"), items(&json, "f"));
        // The thread that made the first one ready was inside of nothing that an arrow could come from.
        let bare = json.iter().filter(|item| item["ts"].as_f64().is_some_and(|us| us < 0.9));
        assert_eq!(bare.filter_map(|item| item["ph"].as_str()).collect::<String>(), "BsE");
        let starts = &starts[1..];
        assert_eq!((&starts[0]["args"]["task"], &starts[0]["ts"]), (&json!(77), &json!(1.0)));
        assert_eq!((&ends[0]["id"], &ends[0]["tid"]), (&starts[0]["id"], &json!(2)));
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
        assert_eq!(
            names("B"),
            [r#""parked" {"worker":0}"#, r#""blocked" {"worker":1}"#, r#""wake" {"woke":1}"#]
        );
        let marks = [r#""gap" {"lost":5}"#, r#""lend" {"index":1}"#, r#""return" {"index":1}"#];
        assert_eq!(names("i"), marks);
    }

    #[test]
    fn what_had_begun_before_is_shown_from_the_threads_first_event_on() {
        let trace =
            Trace::builder().events([at(3_000, 0, Kind::Lend, 0), at(5_000, 0, Kind::JobEnd, 0)]).finish();
        let slice = &items(&parsed(&trace), "X")[0];
        let drawn = (&slice["ts"], &slice["dur"], &slice["name"]);
        assert_eq!(
            drawn,
            (&json!(2.999), &json!(2.001), &json!("job")),
            "just before that, which is inside of it"
        );
    }

    #[test]
    fn sleep_is_drawn_where_nothing_else_began_or_ended() {
        use Kind::*;
        let trace = Trace::builder()
            .events([
                at(1_000_000, 0, JobStart, 0),
                at(2_000_000, 0, SpanStart, 0),
                at(3_000_000, 0, SpanEnd, 0),
                at(5_000_000, 0, Asleep, 3_000),
                at(5_000_000, 0, JobEnd, 0),
            ])
            .finish();
        let asleep = &items(&parsed(&trace), "X")[0];
        let drawn = (&asleep["ts"], &asleep["dur"], &asleep["args"]["us"]);
        assert_eq!(drawn, (&json!(3_000.0), &json!(2_000.0), &json!(3_000)));
    }

    /// What viewers demand: in the order of time, slices of a thread nest, and each end of an arrow has one around it.
    fn check_slices(json: &[Value]) -> Result<(), String> {
        let ns = |value: &Value| (value.as_f64().unwrap() * 1_000.0).round() as u64;
        let mut timed: Vec<&Value> = json.iter().filter(|item| !item["ts"].is_null()).collect();
        // Stable: of one moment, as they were written.
        timed.sort_by_key(|item| ns(&item["ts"]));
        // Until when each slice lasts, if it said so when it began.
        let mut open: BTreeMap<(u64, u64), Vec<Option<u64>>> = BTreeMap::new();
        for item in timed {
            let thread = (item["pid"].as_u64().unwrap(), item["tid"].as_u64().unwrap_or(0));
            let (slices, now) = (open.entry(thread).or_default(), ns(&item["ts"]));
            while slices.last().is_some_and(|until| until.is_some_and(|until| until <= now)) {
                slices.pop();
            }
            let is_good = match item["ph"].as_str().unwrap() {
                "B" => {
                    slices.push(None);
                    true
                }
                "E" => slices.pop() == Some(None),
                "X" => {
                    let until = now + ns(&item["dur"]);
                    let fits = slices.last().is_none_or(|outer| outer.is_none_or(|outer| until <= outer));
                    slices.push(Some(until));
                    fits
                }
                "s" | "f" => !slices.is_empty(),
                _ => true,
            };
            if !is_good {
                return Err(format!("{item} among {json:#?}"));
            }
        }
        Ok(())
    }

    proptest::proptest! {
        #[test]
        fn any_trace_makes_slices_that_nest_and_arrows_between_them(trace in crate::arbitrary::any_trace()) {
            // No two at the same moment, and some time before the first.
            let times = (1..).map(|n| n * 10_000);
            let apart = trace.events().iter().zip(times).map(|(event, at_ns)| Event { at_ns, ..*event });
            let checked = check_slices(&parsed(&Trace::builder().events(apart).finish()));
            proptest::prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
        }

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
