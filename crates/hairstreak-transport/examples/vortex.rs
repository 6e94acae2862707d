//! The speed of a fabric, in its own time and in the time of the host.
//!
//! `cargo run --release -p hairstreak-transport --example vortex`: a fabric in a thread of its own, and for each stream a writer thread and
//! a reader thread. The figures of the fabric are cells and bytes a slot; the figures of the host are the costs of the simulation.

use std::error::Error;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::mem::MaybeUninit;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hairstreak_transport::vortex::{Fabric, FabricClock, FabricOptions, FabricStopper, VortexAddress};
use hairstreak_transport::{Endpoint, Established, Interest, Listener, Poller, Stream};
use rustix::time::{ClockId, clock_gettime};

const BYTES: usize = 32 << 20;
const ROUND_TRIPS: u64 = 2_000;
const REPEATS: usize = 5;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A fabric, and the CPU seconds of its thread after its end.
struct Running {
    name: String,
    stopper: FabricStopper,
    thread: JoinHandle<f64>,
}

impl Running {
    fn start(heights: u32, angles: u32, networks: u32) -> Outcome<Running> {
        let name = format!("rate-{}-{heights}-{angles}-{networks}", std::process::id());
        let mut fabric = Fabric::bind(&FabricOptions { name: name.clone(), heights, angles, networks })?;
        let stopper = fabric.stopper();
        let run = move || {
            let ended = fabric.run();
            let time = clock_gettime(ClockId::ThreadCPUTime);
            ended.map_or(f64::NAN, |()| time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
        };
        Ok(Running { name, stopper, thread: std::thread::Builder::new().spawn(run)? })
    }

    fn stop(self) -> Outcome<f64> {
        self.stopper.stop();
        self.thread.join().map_err(|_| "the fabric failed".into())
    }

    fn listen(&self, rank: u32) -> Outcome<(Listener, VortexAddress)> {
        let any = VortexAddress { fabric: self.name.clone(), from: None, rank: Some(rank), port: 0 };
        let listener = Listener::bind_vortex(&any)?;
        let Endpoint::Vortex(address) = listener.endpoint().clone() else { return Err("no port".into()) };
        Ok((listener, address))
    }
}

/// One end of a stream that waits for events.
struct End {
    stream: Stream,
    poller: Poller,
}

impl End {
    fn new(stream: Stream) -> Outcome<End> {
        let poller = Poller::new()?;
        poller.add(stream.readiness_source().ok_or("no events")?, 0, Interest::Edges)?;
        let mut end = End { stream, poller };
        while end.stream.establish()? != Established::Done {
            end.wait()?;
        }
        Ok(end)
    }

    fn wait(&self) -> Outcome<()> {
        self.poller.wait(Some(Duration::from_secs(60)), |_| {})?;
        Ok(())
    }

    fn write(&mut self, mut bytes: &[u8]) -> Outcome<()> {
        while !bytes.is_empty() {
            match self.stream.write(&[IoSlice::new(bytes)]) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn read(&mut self, mut count: usize) -> Outcome<()> {
        let mut room = vec![MaybeUninit::uninit(); 1 << 16];
        while count > 0 {
            let most = count.min(room.len());
            match self.stream.read(&mut room[..most]) {
                Ok([]) => return Err("an early end".into()),
                Ok(bytes) => count -= bytes.len(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn accept(listener: &Listener) -> Outcome<End> {
    let poller = Poller::new()?;
    poller.add(listener, 0, Interest::Readable)?;
    loop {
        match listener.accept()? {
            Some(stream) => return End::new(stream),
            None => poller.wait(Some(Duration::from_secs(60)), |_| {}).map(drop)?,
        }
    }
}

/// Carries [`BYTES`] over `streams` streams together, each between ranks of its own.
fn carry(running: &Running, streams: u32) -> Outcome<()> {
    let part = BYTES / streams as usize;
    let mut threads = Vec::new();
    for number in 0..streams {
        let (listener, address) = running.listen(2 * number + 1)?;
        let from = VortexAddress { from: Some(2 * number), ..address };
        threads.push(spawn(move || End::new(Stream::connect_vortex(&from)?)?.write(&vec![7; part]))?);
        threads.push(spawn(move || accept(&listener)?.read(part))?);
    }
    threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread failed")?)
}

fn spawn(run: impl FnOnce() -> Outcome<()> + Send + 'static) -> io::Result<JoinHandle<Outcome<()>>> {
    std::thread::Builder::new().spawn(run)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Outcome<()> {
    let mut out = io::stdout();
    writeln!(
        out,
        "fabric time: what a slot of 30 ns carries; host time: what the simulation takes. Median of {REPEATS}."
    )?;
    writeln!(
        out,
        "heights angles networks streams | GB/s of fabric time | M cells/s of host time, of fabric thread | MB/s of host time"
    )?;
    for (heights, angles, networks, streams) in
        [(4, 2, 16, 1), (4, 2, 1, 1), (8, 4, 16, 1), (8, 4, 16, 4), (8, 4, 1, 4), (64, 4, 16, 4)]
    {
        let (mut own, mut wall, mut thread, mut bytes) = (vec![], vec![], vec![], vec![]);
        for _ in 0..REPEATS {
            let running = Running::start(heights, angles, networks)?;
            let clock = FabricClock::attach(&running.name)?;
            let since = Instant::now();
            carry(&running, streams)?;
            let passed = since.elapsed().as_secs_f64();
            let (cells, time) = (clock.cells() as f64, clock.time().as_secs_f64());
            let used = running.stop()?;
            own.push(BYTES as f64 / time / 1e9);
            wall.push(cells / passed / 1e6);
            thread.push(cells / used / 1e6);
            bytes.push(BYTES as f64 / passed / 1e6);
        }
        writeln!(
            out,
            "{heights:>7} {angles:>6} {networks:>8} {streams:>7} | {:>19.2} | {:>10.2} {:>29.2} | {:>17.1}",
            median(own),
            median(wall),
            median(thread),
            median(bytes),
        )?;
    }
    let running = Running::start(8, 4, 16)?;
    let clock = FabricClock::attach(&running.name)?;
    let (listener, address) = running.listen(1)?;
    let client = Stream::connect_vortex(&VortexAddress { from: Some(0), ..address })?;
    let mut server = accept(&listener)?;
    let mut client = End::new(client)?;
    let (slots, since) = (clock.slots(), Instant::now());
    let answering = spawn(move || {
        for _ in 0..ROUND_TRIPS {
            server.read(8)?;
            server.write(&[7; 8])?;
        }
        Ok(())
    })?;
    for _ in 0..ROUND_TRIPS {
        client.write(&[7; 8])?;
        client.read(8)?;
    }
    answering.join().map_err(|_| "the server failed")??;
    let (slots, passed) = (clock.slots() - slots, since.elapsed());
    writeln!(
        out,
        "round trip of 8 bytes, 8 heights, 4 angles: {} slots, {:.1} us of host time",
        slots / ROUND_TRIPS,
        passed.as_secs_f64() * 1e6 / ROUND_TRIPS as f64,
    )?;
    running.stop()?;
    Ok(())
}
