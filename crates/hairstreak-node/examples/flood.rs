//! What a client of services gets while others flood the broker with messages of many empty frames.
//!
//! `cargo run --release -p hairstreak-node --example flood`: a node, a worker and a client, and for each kind of flood the
//! calls that the client made in two seconds and by how much the memory grew. A flooder whose connection is ended connects again
//! at once. With the endpoint and the process of another node (`--example flood tcp://127.0.0.1:5555 1234`) it floods that one.

use std::error::Error;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hairstreak::service::{Client, Worker};
use hairstreak_node::{NodeConfig, Server};
use hairstreak_wire::zmtp::Greeting;

const TIME: Duration = Duration::from_secs(2);
/// Bytes that a flooder writes at a time.
const WRITE_SIZE: usize = 1 << 20;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What each of some connections sends, on and on.
struct Flood {
    name: &'static str,
    connections: usize,
    /// The frames before the empty ones.
    head: &'static [&'static [u8]],
    /// Empty frames of a message.
    frames: usize,
}

/// A request to the broker's own service, by MDP 0.1.
const REQUEST: &[&[u8]] = &[b"", b"MDPC01", b"mmi.service"];

const FLOODS: [Flood; 9] = [
    Flood { name: "none", connections: 0, head: &[], frames: 0 },
    Flood { name: "8 connections, garbage of 1,000 frames", connections: 8, head: &[], frames: 1000 },
    Flood { name: "2 connections, garbage of 1,000 frames", connections: 2, head: &[], frames: 1000 },
    Flood { name: "2 connections, requests of 1,000 frames", connections: 2, head: REQUEST, frames: 1000 },
    Flood { name: "8 connections, garbage of 250 frames", connections: 8, head: &[], frames: 250 },
    Flood { name: "2 connections, garbage of 250 frames", connections: 2, head: &[], frames: 250 },
    Flood { name: "2 connections, requests of 250 frames", connections: 2, head: REQUEST, frames: 250 },
    Flood { name: "2 connections, garbage of 10 frames", connections: 2, head: &[], frames: 10 },
    Flood { name: "2 connections, garbage of 1 frame", connections: 2, head: &[], frames: 1 },
];

impl Flood {
    /// As many messages as fit one write.
    fn bytes(&self) -> Vec<u8> {
        let mut message = Vec::new();
        for frame in self.head.iter().copied().chain(std::iter::repeat_n(&b""[..], self.frames)) {
            message.extend([1, frame.len() as u8]);
            message.extend(frame);
        }
        // The last frame is empty, and none follows.
        if let Some(flags) = message.len().checked_sub(2) {
            message[flags] = 0;
        }
        message.repeat(WRITE_SIZE / message.len().max(1))
    }
}

/// Sends until the connection is ended.
fn send(address: &str, bytes: &[u8], stop: &AtomicBool) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    let mut greeting = Greeting::encode("NULL", false);
    stream.write_all(&greeting)?;
    stream.read_exact(&mut greeting)?;
    stream.write_all(b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER")?;
    while !stop.load(Ordering::Relaxed) {
        stream.write_all(bytes)?;
    }
    Ok(())
}

/// What the process has in memory, in KiB.
fn memory(process: &str) -> Outcome<usize> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn measure(client: &Client, at: &str, process: &str, flood: &Flood) -> Outcome<()> {
    let (bytes, stop) = (Arc::new(flood.bytes()), Arc::new(AtomicBool::new(false)));
    let (before, ended) = (memory(process)?, Arc::new(AtomicUsize::new(0)));
    let flooders: Vec<_> = (0..flood.connections)
        .map(|_| {
            let address = at.trim_start_matches("tcp://").to_owned();
            let (bytes, stop, ended) = (Arc::clone(&bytes), Arc::clone(&stop), Arc::clone(&ended));
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    if send(&address, &bytes, &stop).is_err() {
                        ended.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    // The flood is there by then.
    thread::sleep(TIME / 4);
    let (since, mut calls, mut most) = (Instant::now(), 0, before);
    while since.elapsed() < TIME {
        client.call("echo", "hello")?;
        calls += 1;
        if calls % 16 == 0 {
            most = most.max(memory(process)?);
        }
    }
    let rate = f64::from(calls) / since.elapsed().as_secs_f64();
    let (most, ended) = (most.max(memory(process)?), ended.load(Ordering::Relaxed));
    println!("{:40} {rate:8.0} calls/s, {:6} KiB more, {ended} connections ended", flood.name, most - before);
    stop.store(true, Ordering::Relaxed);
    flooders.into_iter().for_each(|flooder| flooder.join().unwrap_or_default());
    Ok(())
}

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let here = NodeConfig { services_bind: vec!["tcp://127.0.0.1:*".to_owned()], ..NodeConfig::default() };
    let (server, at, process) = match words.as_slice() {
        [at, process] => (None, at.clone(), process.clone()),
        _ => {
            let server = Server::start(here)?;
            let at = server.service_endpoints()[0].to_string();
            (Some(server), at, "self".to_owned())
        }
    };
    let worker = Worker::connect(&at, "echo")?;
    let control = worker.control();
    let working = thread::spawn(move || worker.run(|request| Ok(request.body().into())).map(drop));
    let client = Client::connect(&at)?;
    client.call("echo", "hello")?;
    for flood in &FLOODS {
        measure(&client, &at, &process, flood)?;
    }
    control.leave();
    working.join().map_err(|_| "the worker panicked")??;
    if let Some(server) = server {
        server.stop();
    }
    Ok(())
}
