//! One task spawns 8,000 others: whoever is free takes half of what it has.

use super::load::{compute, tell, traced};
use heist::ThreadPool;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const TASKS: usize = 8_000;
const PIECE: Duration = Duration::from_micros(20);

/// The run with its timeline, and how many tasks each worker has run.
pub fn show(pool: &ThreadPool, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let n = pool.current_num_threads();
    writeln!(out, "One task spawns {TASKS} others that compute for {} us each", PIECE.as_micros())?;
    // One more for those that ran without an index, because all others computed.
    let ran: Arc<[AtomicUsize]> = (0..=n).map(|_| AtomicUsize::new(0)).collect();
    let counts = Arc::clone(&ran);
    let run = traced(pool, move || {
        let spawner = pool.spawn_task(async move {
            let mut tasks = heist::task::JoinSet::new();
            for _ in 0..TASKS {
                let ran = Arc::clone(&ran);
                tasks.spawn(async move {
                    compute(PIECE);
                    let place = heist::current_thread_index().unwrap_or(ran.len() - 1);
                    ran[place].fetch_add(1, Ordering::Relaxed);
                });
            }
            let mut done = 0;
            while let Some(task) = tasks.join_next().await {
                done += usize::from(task.is_ok());
            }
            done
        });
        assert_eq!(heist::block_on(spawner).ok(), Some(TASKS), "a task was lost");
    });
    tell("They go to the spawner's own queue; thieves take half of it at a time", &run, width, out)?;
    let shares: Vec<usize> = counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let texts: Vec<String> = shares.iter().take(n.min(8)).map(usize::to_string).collect();
    let more = if n > 8 { " ..." } else { "" };
    writeln!(out, "Each of them ran once: {}{more} on the {n} workers.\n", texts.join(" + "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_told() {
        let pool = heist::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut text = Vec::new();
        show(&pool, 80, &mut text).unwrap();
        assert!(String::from_utf8(text).unwrap().contains("ran once"));
    }
}
