//! Two tasks that pass a message to and fro: each hop is a send, a wake and a turn.

use tokio::sync::mpsc;

use super::figures::{Limit, both, compare};
use super::runtime::Runtime;
use crate::race::Plan;
use crate::report::Row;
use crate::visit::repeat;

const TRIPS: usize = 20_000;
const SAMPLES: usize = 3;

/// Of tokio.
const MAX: f64 = 1.0;

pub fn rows(plan: &mut Plan) -> Vec<Row> {
    let rounds = plan.rounds(15, 5);
    let mut rows = Vec::new();
    /// One kind of channel: how to make one, send and receive.
    macro_rules! hop {
        ($name:literal, $make:expr, |$tx:ident, $message:ident| $send:expr, |$rx:ident| $receive:expr) => {
            if plan.wants_row($name) {
                fn hops<R: Runtime>(trips: usize) -> usize {
                    R::block_on(async {
                        let parent = R::spawn(async move {
                            let ($tx, mut there) = $make;
                            let (back, mut here) = $make;
                            let echo = R::spawn(async move {
                                let ($tx, $rx) = (back, &mut there);
                                while let Some($message) = $receive {
                                    $send;
                                }
                            });
                            let mut sum = 0;
                            let $rx = &mut here;
                            for $message in 0..trips {
                                $send;
                                sum += $receive.expect("the echo answers");
                            }
                            drop($tx);
                            echo.await.expect("the echo does not panic");
                            sum
                        });
                        parent.await.expect("the parent does not panic")
                    })
                }
                let series =
                    both!(plan, rounds, |R| repeat(SAMPLES, 1, || hops::<R>(TRIPS)).per(2 * TRIPS as u64));
                rows.push(compare($name, series, &[Limit::Ratio(MAX)]));
            }
        };
    }
    hop!(
        "hop, tokio::sync::mpsc unbounded",
        mpsc::unbounded_channel::<usize>(),
        |tx, message| tx.send(message).expect("somebody receives"),
        |rx| rx.recv().await
    );
    hop!(
        "hop, tokio::sync::mpsc bounded(1)",
        mpsc::channel::<usize>(1),
        |tx, message| tx.send(message).await.expect("somebody receives"),
        |rx| rx.recv().await
    );
    hop!(
        "hop, async-channel unbounded",
        async_channel::unbounded::<usize>(),
        |tx, message| tx.send(message).await.expect("somebody receives"),
        |rx| rx.recv().await.ok()
    );
    hop!(
        "hop, async-channel bounded(1)",
        async_channel::bounded::<usize>(1),
        |tx, message| tx.send(message).await.expect("somebody receives"),
        |rx| rx.recv().await.ok()
    );
    rows
}
