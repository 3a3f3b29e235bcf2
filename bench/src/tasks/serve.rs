//! Servers in processes of their own, and what the kernel says about them.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::ValueEnum;

use super::runtime::{Runtime, Tokio};
use super::{echo, http};
use crate::args::Async;

/// What a server does.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Service {
    /// Sends back what it receives
    Echo,
    /// The same, and gives up on a connection that is silent for an hour
    Patient,
    /// HTTP: a greeting at every path, after some work at a few
    Http,
}

/// A server that runs until it is dropped.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    pub fn start(service: Service, runtime: Async) -> Server {
        let program = std::env::current_exe().expect("the kernel knows the path of this program");
        let word = service.to_possible_value().expect("none is hidden");
        let mut child = Command::new(program)
            .args(["serve", word.get_name(), runtime.word()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started again");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output is piped");
        BufReader::new(output).read_line(&mut line).expect("the server says where it listens");
        let address = line.trim().parse();
        let address = address.unwrap_or_else(|error| panic!("the server said {line:?}: {error}"));
        Server { child, address }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// CPU time of all its threads so far, in the kernel's ticks of 10 ms.
    pub fn cpu_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).expect("the server lives");
        let (_, fields) = stat.rsplit_once(')').expect("the name is in brackets");
        let ticks: u64 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|field| field.parse::<u64>().expect("CPU time is counted in whole ticks"))
            .sum();
        Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; either way there is nothing left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server's part: serves until its input ends, which it does when whoever started it is gone.
pub fn alone(service: Service, runtime: Async) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    println!("{}", listener.local_addr().expect("a bound listener has an address"));
    match (service, runtime) {
        (Service::Echo, Async::Tokio) => echo::serve::<Tokio>(listener, echo::Silence::Endless),
        (Service::Patient, Async::Tokio) => echo::serve::<Tokio>(listener, echo::Silence::Limited),
        (Service::Http, Async::Tokio) => http::server::on_tokio(listener),
        #[cfg(feature = "heist")]
        (Service::Echo, Async::Heist) => {
            echo::serve::<super::runtime::Heist>(listener, echo::Silence::Endless);
        }
        #[cfg(feature = "heist")]
        (Service::Patient, Async::Heist) => {
            echo::serve::<super::runtime::Heist>(listener, echo::Silence::Limited);
        }
        #[cfg(feature = "heist")]
        (Service::Http, Async::Heist) => http::server::on_heist(listener),
    }
    io::stdin().read_to_end(&mut Vec::new()).expect("standard input is a pipe");
}

/// Accepts for ever, with a task for each connection.
pub async fn accept<R: Runtime, F>(listener: TcpListener, handle: impl Fn(R::Stream) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = R::listener(listener).expect("the runtime takes the listener");
    loop {
        let stream = R::accept(&listener).await.expect("there are descriptors left");
        super::runtime::Stream::set_nodelay(&stream).expect("TCP knows nodelay");
        drop(R::spawn(handle(stream)));
    }
}
