//! TCP echo: requests per second and the server's CPU time for each.

use std::cell::RefCell;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::figures::{Figures, Limit, compare_by};
use super::load;
use super::open;
use super::runtime::{Runtime, Stream};
use super::serve::{self, Server, Service};
use crate::args::Async;
use crate::race::{Plan, Race, Series};
use crate::report::{Judged, Row, Table};
use crate::visit::Visit;

pub const LINE: &str = "echo";
const CONNECTIONS: usize = 64;
const MESSAGE: [u8; 64] = [b'x'; 64];
const TIME: Duration = Duration::from_millis(1500);
const US: f64 = 1e3;

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let mut tables = Vec::new();
    if plan.wants_row("connections") {
        let name = format!("{CONNECTIONS} connections");
        let rows = measure(plan, &name, Service::Echo, &|server| {
            load::closed(server.address, CONNECTIONS, &MESSAGE, MESSAGE.len(), TIME)
        });
        let title = "messages of 64 bytes, the generator on the same cores";
        tables.push(Table::with_rows(LINE, title, "us a request", Judged::Median, rows.into()));
    }
    tables.extend(open::table(plan));
    tables
}

/// Lets `generate` send requests to both servers in alternation; it returns how many were answered. The time that a
/// request takes, and its CPU time on the server.
pub fn measure(plan: &mut Plan, name: &str, service: Service, generate: &dyn Fn(&Server) -> u64) -> [Row; 2] {
    let spent: Vec<(Async, RefCell<Series>)> = Async::ALL
        .iter()
        .map(|&runtime| {
            (runtime, RefCell::new(Series { name: runtime.word().into(), samples_ns: Vec::new() }))
        })
        .collect();
    let mut race = Race::new();
    for (runtime, spent) in &spent {
        let server = Server::start(service, *runtime);
        race.enter(runtime.word(), move || {
            let (start, cpu) = (Instant::now(), server.cpu_time());
            let requests = generate(&server) as f64;
            let (elapsed, cpu) = (start.elapsed(), server.cpu_time() - cpu);
            spent.borrow_mut().samples_ns.push(cpu.as_nanos() as f64 / requests);
            Visit { value: (), samples_ns: vec![elapsed.as_nanos() as f64 / requests] }
        });
    }
    let elapsed = race.run(plan.rounds(5, 2), &mut plan.rng);
    let cpu: Vec<Series> = spent
        .into_iter()
        .map(|(_, spent)| {
            let mut spent = spent.into_inner();
            // As in the race, the first round does not count.
            spent.samples_ns.remove(0);
            spent
        })
        .collect();
    let limit = [Limit::Ratio(1.0)];
    [
        compare_by(&format!("{name}, time"), &elapsed, &limit, |series| Figures::of(series, US)),
        compare_by(&format!("{name}, server CPU"), &cpu, &limit, |series| Figures::of(series, US)),
    ]
}

/// How long a connection may be silent.
#[derive(Clone, Copy)]
pub enum Silence {
    Endless,
    /// Every read has a timer that is far away.
    Limited,
}

const SILENCE_MAX: Duration = Duration::from_secs(3600);

/// The server's part.
pub fn serve<R: Runtime>(listener: TcpListener, silence: Silence) {
    drop(R::spawn_from_outside(serve::accept::<R, _>(listener, move |mut stream| async move {
        let mut buffer = [0; 1024];
        loop {
            let read = match silence {
                Silence::Endless => stream.read(&mut buffer).await,
                Silence::Limited => match R::timeout(SILENCE_MAX, stream.read(&mut buffer)).await {
                    Some(read) => read,
                    None => return,
                },
            };
            // A client that is gone ends its connection, in whatever way.
            let Ok(count @ 1..) = read else { return };
            if stream.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    })));
}
