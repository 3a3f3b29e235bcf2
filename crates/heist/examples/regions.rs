//! A small game server: `cargo run --release -p heist --features signal --example regions [-- --seconds N]`.
//!
//! The world has 500 regions. Each is a tick of 20 Hz with a physics step that is a parallel loop; every tenth one is a town with twenty times as
//! many creatures, and its neighbours are taken over by whoever has time. Players beside the server send packets over TCP, and each becomes a closure
//! that runs between two ticks of its region. The table shows once a second how the regions do; Ctrl-C ends the game, and no packet is lost.

use heist::net::{TcpListener, TcpStream};
use heist::prelude::*;
use heist::task::JoinSet;
use heist::tick::{self, Handle, Ledger, Next, Window, WindowStats};
use heist::time::{Duration, Instant, interval, interval_at, timeout};
use std::cmp::Reverse;
use std::fmt;
use std::future::Future;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

const REGIONS: u16 = 500;
const PERIOD: Duration = Duration::from_millis(50);
const PLAYERS: u16 = 20;
/// Between two packets of a player.
const PACKET_GAP: Duration = Duration::from_millis(20);
/// Between two looks at the table.
const SECOND: Duration = Duration::from_secs(1);

struct Creature {
    position: [f32; 2],
    velocity: [f32; 2],
}

impl Creature {
    fn new(number: usize) -> Creature {
        Creature { position: [1.0 + number as f32 * 1e-3, 0.0], velocity: [0.0, 1.0] }
    }

    /// Around the middle of its region, in small steps.
    fn advance(&mut self, seconds: f32) {
        const STEPS: u16 = 20;
        let step = seconds / f32::from(STEPS);
        for _ in 0..STEPS {
            let [x, y] = self.position;
            let distance = x.hypot(y).max(0.1);
            for (axis, position) in self.position.iter_mut().enumerate() {
                self.velocity[axis] -= *position / distance.powi(3) * step;
                *position += self.velocity[axis] * step;
            }
        }
    }
}

/// What a player does: somebody in a region gets a push.
#[derive(Clone, Copy)]
struct Packet {
    region: u16,
    push: [i8; 2],
}

impl Packet {
    fn to_bytes(self) -> [u8; 4] {
        let ([r0, r1], [p0, p1]) = (self.region.to_le_bytes(), self.push);
        [r0, r1, p0 as u8, p1 as u8]
    }

    fn from_bytes([r0, r1, p0, p1]: [u8; 4]) -> Packet {
        Packet { region: u16::from_le_bytes([r0, r1]), push: [p0 as i8, p1 as i8] }
    }
}

struct Region {
    creatures: Vec<Creature>,
    packets: u64,
}

impl Region {
    fn new(number: u16) -> Region {
        let creatures = if number.is_multiple_of(10) { 2_000 } else { 100 };
        Region { creatures: (0..creatures).map(Creature::new).collect(), packets: 0 }
    }

    /// Whoever has nothing to do helps with the towns.
    fn advance(&mut self, seconds: f32) {
        self.creatures.par_iter_mut().for_each(|creature| creature.advance(seconds));
    }

    fn hear(&mut self, packet: Packet) {
        let creature = self.packets as usize % self.creatures.len();
        for (velocity, push) in self.creatures[creature].velocity.iter_mut().zip(packet.push) {
            *velocity += f32::from(push) / 128.0;
        }
        self.packets += 1;
    }
}

/// A region and what runs it. A tick and the closures that were submitted to it never run at the same time, so nobody waits for the lock.
struct Served {
    region: Arc<Mutex<Region>>,
    tick: Handle,
}

impl Served {
    fn new(number: u16) -> Served {
        let region = Arc::new(Mutex::new(Region::new(number)));
        let own = Arc::clone(&region);
        let tick = tick::every(PERIOD).name(format!("region {number}")).spawn(move |cx| {
            // A late run stands for the periods that were skipped.
            own.lock().unwrap().advance(PERIOD.as_secs_f32() * cx.count() as f32);
            Next::Continue
        });
        Served { region, tick }
    }
}

struct World(Vec<Served>);

impl World {
    fn new() -> World {
        World((0..REGIONS).map(Served::new).collect())
    }

    fn deliver(&self, packet: Packet) {
        let Some(Served { region, tick }) = self.0.get(usize::from(packet.region)) else { return };
        let region = Arc::clone(region);
        // A region that is closed hears nothing any more.
        let _ = tick.submit(move || region.lock().unwrap().hear(packet));
    }

    fn packets(&self) -> u64 {
        self.0.iter().map(|served| served.region.lock().unwrap().packets).sum()
    }

    /// All regions end at once; what was submitted is done.
    fn close(&self) {
        for served in &self.0 {
            served.tick.cancel();
        }
        for served in &self.0 {
            served.tick.cancel_and_wait();
        }
    }
}

/// One player's connection, until it ends: each packet goes to its region.
async fn listen(player: TcpStream, world: Arc<World>) {
    let mut bytes = [0; 4];
    while player.read_exact(&mut bytes).await.is_ok() {
        world.deliver(Packet::from_bytes(bytes));
    }
}

/// A player who walks through the world, and how many packets that took.
async fn play(player: u16, server: SocketAddr, is_over: Arc<AtomicBool>) -> io::Result<u64> {
    let stream = TcpStream::connect(server).await?;
    let mut pace = interval(PACKET_GAP);
    let mut sent = 0;
    while !is_over.load(Relaxed) {
        pace.tick().await;
        let region = (player * (REGIONS / PLAYERS) + sent as u16 % REGIONS) % REGIONS;
        let packet = Packet { region, push: [player as i8, sent as i8] };
        stream.write_all(&packet.to_bytes()).await?;
        sent += 1;
    }
    Ok(sent)
}

/// What the server owner looks at. In a terminal one table is drawn over the other, elsewhere there is a line a second.
struct Table<W> {
    out: W,
    is_terminal: bool,
    looks: u32,
}

impl<W: Write> Table<W> {
    /// The busiest regions that a terminal shows.
    const SHOWN: usize = 10;

    fn new(out: W, is_terminal: bool) -> Table<W> {
        Table { out, is_terminal, looks: 0 }
    }

    fn show(&mut self, world: &World) -> io::Result<()> {
        let mut regions: Vec<(&str, WindowStats)> = world
            .0
            .iter()
            .map(|Served { tick, .. }| (tick.name().unwrap_or_default(), *tick.stats().window(Window::Secs5)))
            .collect();
        let is_first = self.looks == 0;
        self.looks += 1;
        if self.is_terminal && !is_first {
            // To the first line of the table that is there, and that away.
            write!(self.out, "\x1b[{}A\x1b[J", Self::SHOWN + 1)?;
        }
        let count = regions.len();
        let tps = regions.iter().map(|(_, recent)| recent.tps).sum::<f64>() / count as f64;
        let mspt = regions.iter().map(|(_, recent)| recent.mspt.mean).sum::<Duration>() / count as u32;
        let skipped: u64 = regions.iter().map(|(_, recent)| recent.skipped).sum();
        let (seconds, packets) = (self.looks, world.packets());
        writeln!(
            self.out,
            "{seconds:4} s  {count} regions  TPS {tps:.1}, MSPT {:.2}, skipped {skipped}  {packets} packets",
            mspt.as_secs_f64() * 1e3
        )?;
        if self.is_terminal {
            regions.sort_by_key(|(_, recent)| Reverse(recent.mspt.mean));
            for (name, recent) in &regions[..Self::SHOWN] {
                writeln!(self.out, "        {name:10}  {recent}")?;
            }
        }
        self.out.flush()
    }
}

/// What is left to tell at the end.
struct Summary {
    sent: u64,
    heard: u64,
    /// What became of the runs of each region.
    ledgers: Vec<Ledger>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { sent, heard, ledgers } = self;
        let run: u64 = ledgers.iter().map(|ledger| ledger.run).sum();
        let skipped: u64 = ledgers.iter().map(|ledger| ledger.skipped).sum();
        write!(f, "{run} runs and {skipped} skipped; {heard} of {sent} packets were heard")
    }
}

/// Serves and shows until `stop` is over; then the players leave, and what they sent is read. How many packets were that?
async fn serve(world: &Arc<World>, mut table: Table<impl Write>, stop: impl Future) -> io::Result<u64> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (server, is_over) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
    let mut players = JoinSet::new();
    for player in 0..PLAYERS {
        players.spawn(play(player, server, Arc::clone(&is_over)));
    }
    let mut connections = JoinSet::new();
    let mut look = interval_at(Instant::now() + SECOND, SECOND);
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                connections.spawn(listen(accepted?.0, Arc::clone(world)));
            }
            _ = look.tick() => table.show(world)?,
            _ = &mut stop => break,
        }
    }
    is_over.store(true, Relaxed);
    let mut sent = 0;
    while let Some(player) = players.join_next().await {
        sent += player.map_err(io::Error::other)??;
    }
    while connections.join_next().await.is_some() {}
    Ok(sent)
}

/// The whole game.
fn play_until(stop: impl Future, out: impl Write, is_terminal: bool) -> io::Result<Summary> {
    let world = Arc::new(World::new());
    let table = Table::new(out, is_terminal);
    let sent = heist::block_on(serve(&world, table, stop))?;
    world.close();
    let ledgers = world.0.iter().map(|served| served.tick.stats().ledger).collect();
    Ok(Summary { sent, heard: world.packets(), ledgers })
}

/// `--seconds N`, or for ever.
fn time_limit(mut arguments: impl Iterator<Item = String>) -> Result<Duration, String> {
    match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => Ok(Duration::MAX),
        (Some("--seconds"), Some(n)) => {
            n.parse().map(Duration::from_secs).map_err(|error| format!("--seconds {n}: {error}"))
        }
        _ => Err("usage: regions [--seconds N]".into()),
    }
}

fn main() -> io::Result<()> {
    let limit = time_limit(std::env::args().skip(1)).map_err(io::Error::other)?;
    let stop = timeout(limit, heist::signal::ctrl_c());
    let out = io::stdout();
    println!("{}", play_until(stop, &out, out.is_terminal())?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    /// Tells when there is something to see.
    struct Screen {
        text: Vec<u8>,
        seen: Option<oneshot::Sender<()>>,
    }

    impl Write for &mut Screen {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.text.write(text)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.seen
                .take()
                .map_or(Ok(()), |seen| seen.send(()).map_err(|()| io::ErrorKind::BrokenPipe.into()))
        }
    }

    fn shown(is_terminal: bool) -> String {
        let (seen, is_seen) = oneshot::channel();
        let mut screen = Screen { text: Vec::new(), seen: Some(seen) };
        let Summary { sent, heard, ledgers } = play_until(is_seen, &mut screen, is_terminal).unwrap();
        assert!(sent > 0 && heard == sent, "{heard} of {sent} packets were heard");
        assert!(ledgers.iter().all(|ledger| ledger.is_balanced() && ledger.pending == 0));
        assert!(ledgers.iter().any(|ledger| ledger.run > 0));
        String::from_utf8(screen.text).unwrap()
    }

    #[test]
    fn no_packet_and_no_run_is_lost() {
        let text = shown(false);
        assert!(text.contains("500 regions") && !text.contains("region 10 "), "{text}");
        let text = shown(true);
        // On a busy machine it is drawn again before it is ended.
        let lines = text.lines().count();
        assert!(lines > 0 && lines.is_multiple_of(1 + Table::<&mut Screen>::SHOWN), "{text}");
    }

    #[test]
    fn arguments_are_told_from_nonsense() {
        let limit = |line: &str| time_limit(line.split_whitespace().map(String::from));
        assert_eq!(limit(""), Ok(Duration::MAX));
        assert_eq!(limit("--seconds 3"), Ok(Duration::from_secs(3)));
        assert!(limit("--seconds").is_err() && limit("--seconds x").is_err() && limit("3").is_err());
    }
}
