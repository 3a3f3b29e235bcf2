//! A TCP connection: the server is a task, the client a plain thread with a blocking socket.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use super::GAP;
use crate::beside::shift::Shift;
use crate::tasks::runtime::{Runtime, Stream};

const MESSAGE: usize = 64;

pub fn run<R: Runtime>(shift: &Shift) -> Vec<f64> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    let server = R::spawn_from_outside(serve::<R>(listener));
    let mut client = TcpStream::connect(address).expect("the server accepts");
    client.set_nodelay(true).expect("TCP knows nodelay");
    round_trip(&mut client);
    shift.begin();

    // Round trips are due by the clock. One that could not begin because the one before was still under way counts
    // from when it was due: a client that waits for a slow server does not flatter it. In all other cases the client
    // is late by its own fault, and it counts from when it begins.
    let mut latencies_ns = Vec::new();
    let mut due = Instant::now() + GAP;
    let mut answered = Instant::now();
    while shift.counts(due) {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let since = if due < answered { due } else { Instant::now() };
        round_trip(&mut client);
        answered = Instant::now();
        latencies_ns.push(answered.duration_since(since).as_nanos() as f64);
        // What the client missed by its own fault is not made up for.
        due = since + GAP;
    }
    drop(client);
    R::block_on(async { server.await.expect("the server does not panic") });
    latencies_ns
}

async fn serve<R: Runtime>(listener: TcpListener) {
    let listener = R::listener(listener).expect("the runtime takes the listener");
    let mut stream = R::accept(&listener).await.expect("the client connects");
    stream.set_nodelay().expect("TCP knows nodelay");
    let mut buffer = [0; MESSAGE];
    loop {
        match stream.read(&mut buffer).await.expect("the client sends or hangs up") {
            0 => return,
            count => stream.write_all(&buffer[..count]).await.expect("the client reads"),
        }
    }
}

fn round_trip(client: &mut TcpStream) {
    let mut buffer = [7; MESSAGE];
    client.write_all(&buffer).expect("the server reads");
    client.read_exact(&mut buffer).expect("the server answers");
}
