//! Async tasks, timers and sockets: heist against tokio, the same source on both.

pub mod blocked;
mod channels;
mod crowd;
pub mod echo;
pub mod figures;
pub mod http;
mod load;
mod open;
pub mod parked;
pub mod runtime;
pub mod serve;
mod spawn;
pub mod timers;
mod turns;
mod wake;

use crate::race::Plan;
use crate::report::{Judged, Table};

pub fn line(plan: &mut Plan) -> Vec<Table> {
    let mut rows = spawn::rows(plan);
    rows.extend(turns::rows(plan));
    rows.extend(crowd::rows(plan));
    rows.extend(channels::rows(plan));
    let mut tables = Vec::new();
    if !rows.is_empty() {
        tables.push(Table::with_rows("tasks", "price of a task, 2 workers", "ns", Judged::Median, rows));
    }
    tables.extend(wake::table(plan));
    tables.extend(parked::table(plan));
    tables
}
