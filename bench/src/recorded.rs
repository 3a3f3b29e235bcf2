//! What recording costs: an event, and a fork, a spawned job and a task's poll while somebody records.

#[cfg(not(feature = "heist"))]
pub fn line(_: &mut crate::race::Plan) -> Vec<crate::report::Table> {
    Vec::new()
}

#[cfg(feature = "heist")]
pub use with_heist::line;

#[cfg(feature = "heist")]
mod with_heist {
    use std::hint::black_box;

    use crate::race::{Plan, Race};
    use crate::report::{Bar, Judged, Sense, Table};
    use crate::visit::{Visit, repeat};

    /// Nanoseconds that an event may take.
    const MAX_EVENT_NS: f64 = 30.0;
    const EVENTS: u64 = 10_000;
    const SPAWNS: u64 = 10_000;

    /// A turn inside of the pool, with a recording or without.
    fn turn<'a>(
        pool: &'a heist::ThreadPool,
        is_recorded: bool,
        count: u64,
        work: impl Fn() + Send + Sync + Copy + 'a,
    ) -> impl FnMut() -> Visit<()> + 'a {
        move || {
            if is_recorded {
                pool.start_trace();
            }
            let visit = pool.install(|| repeat(20, 1, work)).per(count);
            if is_recorded {
                black_box(pool.stop_trace());
            }
            visit
        }
    }

    pub fn line(plan: &mut Plan) -> Vec<Table> {
        let pool = heist::ThreadPoolBuilder::new().num_threads(1).build().expect("heist starts its threads");
        let mut tables = Vec::new();
        let mut rows = |title: &str, count: u64, work: fn()| {
            let mut race = Race::new();
            race.enter("not recorded", turn(&pool, false, count, work));
            race.enter("recorded", turn(&pool, true, count, work));
            let series = race.run(plan.rounds(21, 7), &mut plan.rng);
            Table::new("recorded", title, ("ns", 1.0), Judged::Median, &series)
        };
        let mut events = rows("an event: a counter of the program's own", EVENTS, || {
            (0..EVENTS).for_each(|n| heist::trace::counter("n", black_box(n as i64 & 0xff)));
        });
        // A counter is two events: its name, and its value.
        let measured = (events.figure("recorded") - events.figure("not recorded")) / 2.0;
        let bar = Bar { measured, what: "ns an event".into(), sense: Sense::AtMost, limit: MAX_EVENT_NS };
        events.bar("recorded", bar);
        tables.push(events);
        let mut spawns = rows("a job of a scope, spawned and run", SPAWNS, || {
            heist::scope(|s| {
                (0..SPAWNS).for_each(|_| {
                    s.spawn(|_| {
                        let _ = black_box(1);
                    })
                })
            });
        });
        // Spawned, begun, ended; and the place that it comes from, with its name.
        spawns.report_ratio("recorded", "not recorded");
        tables.push(spawns);
        let mut polls = rows("a task's poll", EVENTS, || {
            // Its own thread waits, and another polls: the time is that of the pool's one permit.
            let yields = async {
                for _ in 0..EVENTS {
                    heist::task::yield_now().await;
                }
            };
            heist::block_on(heist::task::spawn(yields)).expect("it does not panic");
        });
        polls.report_ratio("recorded", "not recorded");
        tables.push(polls);
        tables
    }
}
