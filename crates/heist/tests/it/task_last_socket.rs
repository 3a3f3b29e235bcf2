//! A closed pool waits for its last socket, and ends when that goes, wherever it goes.

use crate::rig::watchdog::watch;
use heist::ThreadPoolBuilder;
use heist::net::TcpListener;
use std::sync::mpsc::channel;

#[test]
fn a_closed_pool_ends_with_its_last_socket() {
    let _watch = watch!();
    for threads in [1, 2] {
        let (send, receive) = channel();
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .exit_handler(move |_| send.send(()).unwrap())
            .build()
            .unwrap();
        let listener = pool.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        drop(pool);
        assert!(receive.try_recv().is_err(), "a thread left although a socket is registered");
        drop(listener);
        for _ in 0..threads {
            receive.recv().unwrap();
        }
    }
}
