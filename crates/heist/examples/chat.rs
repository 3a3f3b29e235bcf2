//! A chat server: `cargo run --release -p heist --features signal --example chat [ADDRESS]`, and `nc localhost 7000` for each who talks.
//!
//! What a server needs: idle clients are sent away, quiet ones get a heartbeat, those who do not read do not hold up the others, and Ctrl-C ends it
//! in peace: nobody new, a last word, and five seconds for those who are there. `/primes 10000000` computes on all workers while the others talk.

use futures_lite::StreamExt;
use futures_lite::io::{AsyncBufReadExt, BufReader};
use heist::net::{TcpListener, TcpStream};
use heist::prelude::*;
use heist::task::JoinSet;
use heist::time::{Duration, Instant, MissedTickBehavior, interval_at, timeout, timeout_at};
use std::future::Future;
use std::io;
use std::pin::pin;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

#[derive(Clone, Copy)]
struct Rules {
    /// Who says nothing for so long is sent away, and so is who reads nothing.
    idle: Duration,
    heartbeat: Duration,
    /// How long those who are there may stay when the server ends.
    grace: Duration,
}

const RULES: Rules = Rules {
    idle: Duration::from_secs(300),
    heartbeat: Duration::from_secs(30),
    grace: Duration::from_secs(5),
};

/// What all clients share.
#[derive(Clone)]
struct Room {
    said: broadcast::Sender<String>,
    is_closing: watch::Receiver<bool>,
    rules: Rules,
}

fn count_primes(limit: u32) -> usize {
    let is_prime = |n: &u32| (2..).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    (2..limit).into_par_iter().filter(is_prime).count()
}

/// One client, from hello to good-bye.
async fn talk(stream: TcpStream, mut room: Room) -> io::Result<()> {
    let Rules { idle, heartbeat, grace } = room.rules;
    let mut name = stream.peer_addr()?.to_string();
    let (read, write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut heard = room.said.subscribe();
    let say = async |text: String| timeout(idle, write.write_all(format!("{text}\n").as_bytes())).await?;
    let mut beat = interval_at(Instant::now() + heartbeat, heartbeat);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut patience = Instant::now() + idle;
    say(format!("* you are {name}; /name NAME, /primes LIMIT, /quit")).await?;
    loop {
        tokio::select! {
            line = timeout_at(patience, lines.next()) => {
                let Ok(line) = line else { return say("* idle for too long".into()).await };
                let Some(line) = line else { return Ok(()) };
                let line = line?;
                patience = Instant::now() + idle;
                match line.split_once(' ').unwrap_or((line.trim(), "")) {
                    ("/quit", _) => return say("* bye".into()).await,
                    ("/name", new) => {
                        let _ = room.said.send(format!("* {name} is now {new}"));
                        name = new.into();
                    }
                    ("/primes", limit) => match limit.trim().parse() {
                        Ok(limit) => {
                            let count = heist::task::compute(move || count_primes(limit)).await;
                            say(format!("* {count} primes below {limit}")).await?;
                        }
                        Err(error) => say(format!("* {limit:?}: {error}")).await?,
                    },
                    // Nobody else may be there.
                    _ => drop(room.said.send(format!("{name}: {line}"))),
                }
            }
            text = heard.recv() => match text {
                Ok(text) => say(text).await?,
                Err(RecvError::Lagged(missed)) => say(format!("* {missed} lines missed")).await?,
                Err(RecvError::Closed) => return Ok(()),
            },
            _ = beat.tick() => say("* still here".into()).await?,
            Ok(()) = room.is_closing.changed() => say(format!("* closing in {grace:?}")).await?,
        }
    }
}

/// Serves until `stop` is over, and then waits for those who are there. How many had to be thrown out?
async fn serve(listener: TcpListener, rules: Rules, stop: impl Future) -> io::Result<usize> {
    let (close, is_closing) = watch::channel(false);
    let room = Room { said: broadcast::channel(100).0, is_closing, rules };
    let mut clients = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                clients.spawn(talk(accepted?.0, room.clone()));
            }
            // Those who have left. A connection that broke is nobody's business.
            Some(_) = clients.join_next() => {}
            _ = &mut stop => break,
        }
    }
    drop(listener);
    close.send_replace(true);
    let leaving = async { while clients.join_next().await.is_some() {} };
    let _ = timeout(rules.grace, leaving).await;
    let left = clients.len();
    clients.shutdown().await;
    Ok(left)
}

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7000".into());
    heist::block_on(async {
        let listener = TcpListener::bind(address.as_str()).await?;
        println!("listening on {}; Ctrl-C ends", listener.local_addr()?);
        let thrown_out = serve(listener, RULES, heist::signal::ctrl_c()).await?;
        println!("closed, {thrown_out} clients thrown out");
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use heist::net::{ReadHalf, WriteHalf};
    use heist::task::JoinHandle;
    use std::net::SocketAddr;
    use tokio::sync::oneshot;

    struct Client {
        lines: futures_lite::io::Lines<BufReader<ReadHalf<TcpStream>>>,
        write: WriteHalf<TcpStream>,
    }

    impl Client {
        async fn new(address: SocketAddr) -> Self {
            let (read, write) = TcpStream::connect(address).await.unwrap().into_split();
            let mut client = Client { lines: BufReader::new(read).lines(), write };
            client.until("you are").await;
            client
        }

        async fn say(&self, line: &str) {
            self.write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }

        /// Reads until a line has `part` in it.
        async fn until(&mut self, part: &str) {
            loop {
                let line = timeout(Duration::from_secs(20), self.lines.next()).await;
                if line.expect("answers in time").expect("is still connected").unwrap().contains(part) {
                    return;
                }
            }
        }

        async fn until_sent_away(mut self) {
            while let Some(Ok(_)) = self.lines.next().await {}
        }
    }

    async fn start(rules: Rules) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<io::Result<usize>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        (address, stop, heist::task::spawn(serve(listener, rules, stopped)))
    }

    #[test]
    fn they_talk_and_compute_and_go() {
        heist::block_on(async {
            let (address, stop, server) = start(RULES).await;
            let (mut ann, mut bob) = (Client::new(address).await, Client::new(address).await);
            ann.say("/name ann").await;
            bob.until("is now ann").await;
            ann.say("hello").await;
            bob.until("ann: hello").await;
            bob.say("/primes 1000").await;
            bob.until("168 primes").await;
            bob.say("/primes many").await;
            bob.until("invalid digit").await;
            stop.send(()).unwrap();
            ann.until("closing in").await;
            ann.say("good night").await;
            bob.until("ann: good night").await;
            bob.say("/quit").await;
            bob.until("bye").await;
            drop(ann);
            assert_eq!(server.await.unwrap().unwrap(), 0);
        });
    }

    #[test]
    fn the_idle_go_and_the_stubborn_are_thrown_out() {
        heist::block_on(async {
            let soon = Duration::from_millis(50);
            let (address, stop, server) = start(Rules { idle: soon * 4, heartbeat: soon, grace: soon }).await;
            let mut idle = Client::new(address).await;
            idle.until("still here").await;
            idle.until("idle for too long").await;
            idle.until_sent_away().await;
            let rules = Rules { heartbeat: soon, grace: soon, ..RULES };
            stop.send(()).unwrap();
            assert_eq!(server.await.unwrap().unwrap(), 0);
            let (address, stop, server) = start(rules).await;
            let stubborn = Client::new(address).await;
            stop.send(()).unwrap();
            assert_eq!(server.await.unwrap().unwrap(), 1);
            stubborn.until_sent_away().await;
        });
    }
}
