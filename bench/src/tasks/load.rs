//! The other side of a server: one thread with an epoll, the same for every runtime.
//!
//! It shares the two cores with the server's workers.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// The alarm's place among the numbers of the connections.
const ALARM: u64 = u64::MAX;

/// Connections that wait for replies.
pub struct Connections {
    epoll: OwnedFd,
    /// epoll's own time-outs are in milliseconds.
    alarm: OwnedFd,
    connections: Vec<Connection>,
    events: Vec<epoll::Event>,
}

struct Connection {
    stream: TcpStream,
    /// Bytes of the present reply so far.
    received: usize,
}

impl Connections {
    pub fn open(address: SocketAddr, count: usize) -> Connections {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("the kernel has epoll");
        let alarm = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .expect("the kernel has timerfd");
        epoll::add(&epoll, &alarm, EventData::new_u64(ALARM), EventFlags::IN).expect("epoll takes timers");
        let connections: Vec<Connection> = (0..count)
            .map(|number| {
                let stream = TcpStream::connect(address).expect("the server accepts");
                stream.set_nodelay(true).expect("TCP knows nodelay");
                stream.set_nonblocking(true).expect("sockets need not block");
                epoll::add(&epoll, &stream, EventData::new_u64(number as u64), EventFlags::IN)
                    .expect("epoll takes sockets");
                Connection { stream, received: 0 }
            })
            .collect();
        Connections { epoll, alarm, connections, events: Vec::with_capacity(count + 1) }
    }

    /// Until when [`replies`](Self::replies) may wait.
    pub fn set_alarm(&mut self, deadline: Instant) {
        // Zero would mean never.
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let value = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &once).expect("a time in range");
    }

    pub fn send(&mut self, number: usize, request: &[u8]) {
        // A request is small and its connection idle, so that there is always room.
        let sent = self.connections[number].stream.write(request).expect("the server reads");
        assert_eq!(sent, request.len(), "a small request is sent at once");
    }

    /// Waits for replies, at most until the alarm, and tells the numbers of the connections that have one.
    pub fn replies(&mut self, reply_len: usize, mut complete: impl FnMut(&mut Self, usize)) {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("epoll: {error}"),
        }
        for event in &events {
            let number = event.data.u64();
            if number == ALARM {
                continue;
            }
            let number = number as usize;
            if self.connections[number].receive(reply_len) {
                complete(self, number);
            }
        }
        self.events = events;
    }
}

impl Connection {
    /// Whether the reply is complete.
    fn receive(&mut self, reply_len: usize) -> bool {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => panic!("the server closed a connection"),
            Ok(count) => self.received += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) => panic!("the server closed a connection: {error}"),
        }
        assert!(self.received <= reply_len, "a reply has {} bytes instead of {reply_len}", self.received);
        let is_complete = self.received == reply_len;
        if is_complete {
            self.received = 0;
        }
        is_complete
    }
}

/// Each connection sends its next request when it has its reply. Returns how many replies came in `time`.
pub fn closed(address: SocketAddr, count: usize, request: &[u8], reply_len: usize, time: Duration) -> u64 {
    let mut connections = Connections::open(address, count);
    for number in 0..count {
        connections.send(number, request);
    }
    let deadline = Instant::now() + time;
    connections.set_alarm(deadline);
    let mut replies = 0;
    while Instant::now() < deadline {
        connections.replies(reply_len, |connections, number| {
            replies += 1;
            connections.send(number, request);
        });
    }
    replies
}

/// One request on a connection of its own; the length of the reply, all of which comes at once.
pub fn reply_len(address: SocketAddr, request: &[u8]) -> usize {
    let mut stream = TcpStream::connect(address).expect("the server accepts");
    stream.write_all(request).expect("the server reads");
    let mut buffer = [0; 4096];
    stream.read(&mut buffer).expect("the server replies")
}
