//! Chrome trace-event JSON, the format that Perfetto and chrome://tracing open.

use crate::walk::{Span, Walk, What};
use crate::{Event, Kind, Trace};
use std::fmt;
use std::io::{self, BufWriter, Write};

/// There is one process in a trace; the format wants a number for it.
const PID: u32 = 1;

pub(crate) fn write(trace: &Trace, w: impl Write) -> io::Result<()> {
    let mut list = List { w: BufWriter::new(w), first: true };
    write!(
        list.w,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"lost_events\":\"{}\"}},\"traceEvents\":[",
        trace.lost()
    )?;
    list.item(format_args!(
        "\"ph\":\"M\",\"pid\":{PID},\"name\":\"process_name\",\"args\":{{\"name\":\"heist\"}}"
    ))?;
    for (number, name) in trace.threads() {
        list.item(format_args!(
            "\"ph\":\"M\",\"pid\":{PID},\"tid\":{number},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}",
            Quoted(name)
        ))?;
        list.item(format_args!(
            "\"ph\":\"M\",\"pid\":{PID},\"tid\":{number},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{number}}}"
        ))?;
    }
    for (flow, span) in spans(trace).iter().enumerate() {
        slice(&mut list, flow, span)?;
    }
    for event in trace.events() {
        mark(&mut list, event)?;
    }
    list.w.write_all(b"\n]}\n")?;
    list.w.flush()
}

/// All spans by time, those of one moment and thread in the order of entering: so do viewers nest slices of equal time.
fn spans(trace: &Trace) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut walk = Walk::new(trace.events());
    (0..trace.events().len()).for_each(|position| walk.step(position, &mut |span| spans.push(span)));
    walk.finish(trace.range_ns().1, &mut |span| spans.push(span));
    spans.sort_by_key(|span| (span.start_ns, span.thread, span.order));
    spans
}

fn slice(list: &mut List<impl Write>, flow: usize, span: &Span) -> io::Result<()> {
    let (name, from) = match span.what {
        What::Job { from: None } => ("job", None),
        What::Job { from } => ("stolen job", from),
        What::Park => ("parked", None),
        What::Block => ("blocked", None),
    };
    let mut args = String::new();
    let mut arg = |key: &str, value: &dyn fmt::Display| {
        let comma = if args.is_empty() { "" } else { "," };
        args += &format!("{comma}\"{key}\":{value}");
    };
    if let Some(index) = span.worker {
        arg("worker", &index);
    }
    if let Some(victim) = from {
        arg("from", &victim);
    }
    if span.arg != 0 {
        arg("id", &span.arg);
    }
    if !span.start_known {
        arg("start_unknown", &true);
    }
    if !span.end_known {
        arg("end_unknown", &true);
    }
    let (tid, ts) = (span.thread, Micros(span.start_ns));
    let dur = Micros(span.end_ns - span.start_ns);
    list.item(format_args!(
        "\"ph\":\"X\",\"pid\":{PID},\"tid\":{tid},\"ts\":{ts},\"dur\":{dur},\"cat\":\"heist\",\"name\":\"{name}\",\"args\":{{{args}}}"
    ))?;
    // The arrow from the victim to the stolen job, at the moment at which the job starts: both ends bind to the slice that
    // surrounds them.
    if let Some(victim) = from {
        let tail =
            format_args!("\"pid\":{PID},\"id\":{flow},\"ts\":{ts},\"cat\":\"heist\",\"name\":\"steal\"",)
                .to_string();
        list.item(format_args!("\"ph\":\"s\",\"tid\":{victim},{tail}"))?;
        list.item(format_args!("\"ph\":\"f\",\"bp\":\"e\",\"tid\":{tid},{tail}"))?;
    }
    Ok(())
}

/// A mark for each event that is not the edge of a slice.
fn mark(list: &mut List<impl Write>, event: &Event) -> io::Result<()> {
    let key = match event.kind {
        Kind::Steal => "from",
        Kind::Wake => "woke",
        Kind::Lend | Kind::Return => "index",
        Kind::Gap => "lost",
        Kind::JobStart | Kind::JobEnd | Kind::Park | Kind::Block | Kind::Unblock => return Ok(()),
    };
    let Event { kind, thread, arg, .. } = event;
    let (name, ts) = (kind.name(), Micros(event.at_ns));
    list.item(format_args!(
        "\"ph\":\"i\",\"s\":\"t\",\"pid\":{PID},\"tid\":{thread},\"ts\":{ts},\"cat\":\"heist\",\"name\":\"{name}\",\"args\":{{\"{key}\":{arg}}}"
    ))
}

struct List<W> {
    w: W,
    first: bool,
}

impl<W: Write> List<W> {
    /// Writes one object, given what stands between its braces.
    fn item(&mut self, body: fmt::Arguments<'_>) -> io::Result<()> {
        let comma = if std::mem::replace(&mut self.first, false) { "" } else { "," };
        write!(self.w, "{comma}\n{{{body}}}")
    }
}

/// Nanoseconds as the format's microseconds, without a detour over floats.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lost;
    use serde_json::{Value, json};

    fn parsed(trace: &Trace) -> Value {
        let mut text = Vec::new();
        trace.write_chrome(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn items(json: &Value, phase: &str) -> Vec<Value> {
        json["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == phase).cloned().collect()
    }

    fn at(at_ns: u64, thread: u16, kind: Kind, arg: u32) -> Event {
        Event { at_ns, kind, thread, worker: Some(thread), arg }
    }

    #[test]
    fn an_empty_trace_is_valid() {
        assert_eq!(items(&parsed(&Trace::default()), "X"), [] as [Value; 0]);
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
        let slices = items(&json, "X");
        assert_eq!(slices.len(), 3);
        assert_eq!(
            slices[0],
            json!({"ph":"X","pid":1,"tid":0,"ts":0.0,"dur":3.001,"cat":"heist","name":"job",
                   "args":{"worker":0,"end_unknown":true}})
        );
        assert_eq!(
            slices[1],
            json!({"ph":"X","pid":1,"tid":1,"ts":2.0,"dur":1.001,"cat":"heist","name":"stolen job",
                   "args":{"worker":1,"from":0,"id":9}})
        );
        assert_eq!((&slices[2]["name"], &slices[2]["dur"]), (&json!("job"), &json!(0.75)));
        let (starts, ends) = (items(&json, "s"), items(&json, "f"));
        assert_eq!((starts.len(), ends.len()), (1, 1));
        assert_eq!((&starts[0]["tid"], &ends[0]["tid"]), (&json!(0), &json!(1)));
        assert_eq!(starts[0]["id"], ends[0]["id"]);
        assert_eq!(items(&json, "i")[0]["args"], json!({"from":0}));
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
        assert_eq!(json["otherData"]["lost_events"], "5");
        let names = |phase| -> Vec<String> {
            items(&json, phase).iter().map(|e| format!("{} {}", e["name"], e["args"])).collect()
        };
        assert_eq!(names("X"), [r#""parked" {"worker":0}"#, r#""blocked" {"worker":1}"#]);
        let marks = [
            r#""gap" {"lost":5}"#,
            r#""lend" {"index":1}"#,
            r#""return" {"index":1}"#,
            r#""wake" {"woke":0}"#,
        ];
        assert_eq!(names("i"), marks);
    }

    proptest::proptest! {
        #[test]
        fn any_trace_makes_valid_json_with_properly_nested_slices(trace in crate::arbitrary::any_trace()) {
            let slices = items(&parsed(&trace), "X");
            proptest::prop_assert!(slices.len() <= trace.events().len());
            let mut enclosing: std::collections::BTreeMap<u16, Vec<Span>> = Default::default();
            for span in spans(&trace) {
                let open = enclosing.entry(span.thread).or_default();
                open.truncate(span.depth);
                proptest::prop_assert_eq!(open.len(), span.depth);
                if let Some(outer) = open.last() {
                    proptest::prop_assert!(outer.start_ns <= span.start_ns && span.end_ns <= outer.end_ns);
                }
                open.push(span);
            }
        }
    }
}
