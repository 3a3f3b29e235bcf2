//! `HEIST_TRACE=file.json`: the whole run of a program, without a change to it. The form is that of [`ChromeWriter`], written ten times a second,
//! so a crash loses a tenth of a second at most, and never a part of an item.

use super::collect::{self, NO_POOL, Sink};
use crate::pool::Pool;
use crate::queues::job::halt_unwinding;
use heist_sync::process::{self, PerProcess};
use heist_sync::std_atomic::{AtomicBool, Ordering};
use heist_trace::{ChromeWriter, Event, Lost, name};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// The file grows no larger than this, and says so.
const MOST_BYTES: u64 = 1 << 30;

/// Begins the recording that the environment asks for, once.
pub(super) fn start() {
    static IS_STARTED: PerProcess<AtomicBool> = PerProcess::new(AtomicBool::new(false), AtomicBool::default);
    let Some(value) = std::env::var_os("HEIST_TRACE").filter(|value| !value.is_empty()) else { return };
    // A child writes nothing: the file is its parent's.
    if IS_STARTED.get().swap(true, Ordering::Relaxed) || process::is_child() {
        return;
    }
    if heist_os::is_privileged() == Some(true) {
        return heist_sync::warn(format_args!(
            "HEIST_TRACE is ignored in a program that runs with another user's rights"
        ));
    }
    let path = path_of(&value);
    let tell = |error: io::Error| {
        heist_sync::warn(format_args!(
            "HEIST_TRACE={}: nothing is recorded: {error}. Name a file that can be written",
            path.display()
        ));
    };
    let sink = File::create(&path).and_then(|file| FileSink::new(file, path.clone()));
    match sink.and_then(|sink| collect::add(Box::new(sink))) {
        Ok(_) => {
            extern "C" fn at_exit() {
                // Nothing may unwind into the C library.
                if !process::is_child() {
                    let _ = halt_unwinding(collect::end);
                }
            }
            if !heist_os::at_exit(at_exit) {
                heist_sync::warn(format_args!(
                    "HEIST_TRACE={}: this system does not tell when the process ends; the last tenth of a second may be missing",
                    path.display()
                ));
            }
        }
        Err(error) => tell(error),
    }
}

/// `%p` is the process.
fn path_of(value: &OsStr) -> PathBuf {
    match value.to_str() {
        Some(text) => text.replace("%p", &std::process::id().to_string()).into(),
        None => OsString::from(value).into(),
    }
}

/// What is known of a pool that is in the file.
#[derive(Default)]
struct Known {
    threads: BTreeMap<u16, String>,
    lost: u64,
    counters: BTreeMap<String, i64>,
}

/// Writes whole items so that none lies on both sides of a page's edge: a process that is killed in the middle of a write leaves whole pages.
///
/// An item that is larger than a page may be cut.
struct Pages<W: Write> {
    w: BufWriter<W>,
    written: u64,
}

impl<W: Write> Write for Pages<W> {
    fn write(&mut self, item: &[u8]) -> io::Result<usize> {
        const PAGE: usize = 4096;
        let left = PAGE - (self.written % PAGE as u64) as usize;
        if item.len() > left && item.len() <= PAGE {
            self.w.write_all(&[b' '; PAGE][..left])?;
            self.written += left as u64;
        }
        self.w.write_all(item)?;
        self.written += item.len() as u64;
        Ok(item.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.w.flush()
    }
}

struct FileSink<W: Write> {
    /// `None` once it has ended.
    out: Option<ChromeWriter<Pages<W>>>,
    path: PathBuf,
    pools: BTreeMap<u32, Known>,
    /// What the host had taken in all, and in the time between the last two looks.
    stolen_ms: Option<(u64, u64)>,
    /// How many whole seconds are in the file.
    seconds: u64,
    most_bytes: u64,
}

impl<W: Write> FileSink<W> {
    fn new(w: W, path: PathBuf) -> io::Result<Self> {
        let out = Some(ChromeWriter::new(Pages { w: BufWriter::new(w), written: 0 })?);
        Ok(Self { out, path, pools: BTreeMap::new(), stolen_ms: None, seconds: 0, most_bytes: MOST_BYTES })
    }

    /// Does something with the file; without it from the first failure on, which is told.
    fn attempt(
        &mut self,
        f: impl FnOnce(&mut ChromeWriter<Pages<W>>, &mut BTreeMap<u32, Known>) -> io::Result<()>,
    ) {
        let Some(out) = &mut self.out else { return };
        if let Err(error) = f(out, &mut self.pools) {
            self.out = None;
            let path = self.path.display();
            heist_sync::warn(format_args!("HEIST_TRACE={path}: the recording ends here: {error}"));
        }
    }
}

fn known<'a, W: Write>(
    out: &mut ChromeWriter<W>,
    pools: &'a mut BTreeMap<u32, Known>,
    pool: u32,
) -> io::Result<&'a mut Known> {
    if !pools.contains_key(&pool) {
        let name =
            if pool == NO_POOL { "the program's own threads".into() } else { format!("heist pool {pool}") };
        out.process(pool, &name)?;
    }
    Ok(pools.entry(pool).or_default())
}

impl<W: Write + Send> Sink for FileSink<W> {
    fn batch(&mut self, pool: u32, thread: u16, thread_name: Option<&str>, events: &[Event], lost: Lost) {
        self.attempt(|out, pools| {
            let known = known(out, pools, pool)?;
            let before = known.threads.get(&thread).map(String::as_str);
            let now = thread_name.or(before).map_or_else(|| format!("thread {thread}"), String::from);
            if before != Some(&now) {
                out.thread(pool, thread, &now)?;
                known.threads.insert(thread, now);
            }
            if lost.0 > 0 {
                known.lost += lost.0;
                out.lost(pool, known.lost)?;
            }
            events.iter().try_for_each(|event| out.event(pool, event, name::text))
        });
    }

    fn look(&mut self, pool: &Pool, at_ns: u64) {
        let number = pool.recorder().number();
        let queues = pool
            .threads()
            .table()
            .iter()
            // As the file calls threads.
            .map(|worker| (format!("queued by thread {}", worker.id() + 1), worker.queued()));
        let counters = queues.chain([
            ("injected".into(), pool.queues().injected()),
            ("due ticks".into(), pool.due_ticks()),
            ("threads".into(), pool.threads().live()),
        ]);
        let counters: Vec<(String, i64)> = counters.map(|(name, value)| (name, value as i64)).collect();
        self.attempt(|out, pools| {
            let known = known(out, pools, number)?;
            for (name, value) in counters {
                if known.counters.get(&name) != Some(&value) {
                    out.counter(number, at_ns, &name, value)?;
                    known.counters.insert(name, value);
                }
            }
            Ok(())
        });
    }

    fn gone(&mut self, pool: u32) {
        self.pools.remove(&pool);
        self.attempt(|out, _| out.forget(pool, heist_trace::now_ns()));
    }

    fn turn(&mut self, at_ns: u64) -> bool {
        if let Some(now_ms) = heist_os::stolen_ms() {
            let (before_ms, last_ms) = self.stolen_ms.unwrap_or((now_ms, u64::MAX));
            let ms = now_ms.saturating_sub(before_ms);
            self.stolen_ms = Some((now_ms, ms));
            if ms != last_ms {
                self.attempt(|out, pools| {
                    known(out, pools, NO_POOL)?;
                    out.counter(NO_POOL, at_ns, "ms that the host took from this machine", ms as i64)
                });
            }
        }
        // A program in which nothing happens any more is seen to go on.
        let seconds = at_ns / 1_000_000_000;
        if seconds > std::mem::replace(&mut self.seconds, seconds) {
            self.attempt(|out, pools| {
                known(out, pools, NO_POOL)?;
                out.counter(NO_POOL, at_ns, "seconds recorded", seconds as i64)
            });
        }
        let most = self.most_bytes;
        self.attempt(|out, _| {
            out.get_mut().flush()?;
            if out.get_mut().written <= most {
                return Ok(());
            }
            Err(io::Error::other(format!("the file has reached {most} bytes; record a shorter run")))
        });
        self.out.is_some()
    }

    fn end(&mut self, at_ns: u64) {
        if let Some(out) = self.out.take()
            && let Err(error) = out.finish(at_ns).and_then(|mut w| w.flush())
        {
            heist_sync::warn(format_args!(
                "HEIST_TRACE={}: the end is missing: {error}",
                self.path.display()
            ));
        }
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;
    use heist_trace::Kind;

    #[test]
    fn the_process_is_put_into_the_path() {
        assert_eq!(path_of(OsStr::new("a-%p.json")), PathBuf::from(format!("a-{}.json", std::process::id())));
    }

    #[test]
    fn it_ends_at_its_largest_size_with_whole_items() {
        let event = Event { at_ns: 1, kind: Kind::Lend, thread: 0, worker: None, arg: 0 };
        let mut sink = FileSink::new(Vec::new(), "x".into()).unwrap();
        sink.most_bytes = 2_000;
        let mut written = 0;
        for n in 0..1_000 {
            sink.batch(1, 0, Some("t"), &[event; 3], Lost(0));
            let Some(out) = &mut sink.out else { panic!("after {n}") };
            written = out.get_mut().written;
            if !sink.turn(1) {
                break;
            }
        }
        assert!(sink.out.is_none() && written > 2_000 && written < 3_000, "{written}");
    }

    #[test]
    fn no_item_is_cut_by_the_edge_of_a_page() {
        let mut pages = Pages { w: BufWriter::new(Vec::new()), written: 0 };
        let item = |n: usize| format!("<{}>", "x".repeat(n * 7 % 300));
        for n in 0..500 {
            pages.write_all(item(n).as_bytes()).unwrap();
        }
        pages.write_all(&[b'y'; 4096]).unwrap();
        let whole = pages.w.into_inner().unwrap();
        assert_eq!(whole.len() % 4096, 0);
        assert_eq!(pages.written, whole.len() as u64);
        let text = String::from_utf8(whole).unwrap();
        let items: String = (0..500).map(item).collect();
        assert!(text.replace(' ', "").starts_with(&items));
        for page in text.as_bytes().chunks(4096) {
            assert!([b' ', b'>', b'y'].contains(&page[4095]), "{}", page[4095] as char);
        }
    }
}
