//! A task that blocks its worker, beside tasks that do not.

use super::load::{tell, traced};
use heist::ThreadPool;
use std::io::{self, Write};
use std::time::{Duration, Instant};

const BLOCKED: Duration = Duration::from_millis(150);
const SHORT: usize = 100;
const EVERY: Duration = Duration::from_millis(1);

/// The run with its timeline, and how long the others had to wait.
pub fn show(pool: &ThreadPool, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let n = pool.current_num_threads();
    writeln!(
        out,
        "{n} tasks block their workers for {} ms; {SHORT} short ones are spawned meanwhile, one every {} ms",
        BLOCKED.as_millis(),
        EVERY.as_millis()
    )?;
    let mut waited = Vec::new();
    let run = traced(pool, || {
        let blocked: Vec<_> =
            (0..n).map(|_| pool.spawn_task(async { std::thread::sleep(BLOCKED) })).collect();
        let short: Vec<_> = (0..SHORT)
            .map(|_| {
                std::thread::sleep(EVERY);
                let spawned = Instant::now();
                pool.spawn_task(async move { spawned.elapsed() })
            })
            .collect();
        waited = short.into_iter().filter_map(|task| heist::block_on(task).ok()).collect();
        for task in blocked {
            heist::block_on(task).unwrap_or_else(|error| panic!("a task that only sleeps: {error}"));
        }
    });
    tell(
        "A poll that blocks gives its worker's place away, to a thread that goes on with the rest",
        &run,
        width,
        out,
    )?;
    waited.sort();
    let [median, most] = [waited.len() / 2, waited.len().saturating_sub(1)]
        .map(|at| waited.get(at).map_or(f64::NAN, |waited| waited.as_secs_f64() * 1e3));
    writeln!(out, "Nobody waited for the blocked ones: {median:.2} ms at the median, {most:.1} ms at most.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_do_not_wait() {
        let pool = heist::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut text = Vec::new();
        show(&pool, 80, &mut text).unwrap();
        assert!(String::from_utf8(text).unwrap().contains("Nobody waited"));
    }
}
