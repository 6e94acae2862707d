//! Measures how fast durable queues are declared without waiting: `cargo run --release -p hairstreak-node --example declare [DIR]`.
//!
//! Without a directory the example makes one beside the build, where the disk is the checkout's, and removes it.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_node::{AmqpConfig, NodeConfig, Server};
use hairstreak_wire::amqp::{FrameKind, Method, PROTOCOL_HEADER, channel, connection, decode_frame, queue};

/// Queues of each measurement.
const QUEUES: usize = 1_000;
const CHANNEL: u16 = 1;
const FRAME_SIZE: u32 = 131_072;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let (path, is_own) = match std::env::args_os().nth(1) {
        Some(path) => (PathBuf::from(path), false),
        None => (std::env::current_exe()?.with_file_name(format!("declare-{}", std::process::id())), true),
    };
    let measured = measure(&path);
    if is_own {
        std::fs::remove_dir_all(&path)?;
    }
    measured
}

fn measure(path: &Path) -> Result<(), Box<dyn Error>> {
    let config = NodeConfig {
        node_name: "example@host".into(),
        data_dir: Some(path.into()),
        amqp: AmqpConfig { bind: Some(vec!["tcp://127.0.0.1:*".into()]), ..AmqpConfig::default() },
        ..NodeConfig::default()
    };
    let server = Server::start(config)?;
    let place = server.amqp_endpoints()[0].to_string().replace("tcp://", "");
    let mut out = io::stdout().lock();
    for connections in [1, 10] {
        for round in 0..ROUNDS {
            let time = declare(&place, connections, &format!("{connections}.{round}"))?;
            writeln!(
                out,
                "{QUEUES} durable queues, not waited for, over {connections} connections: {time:.1?}, {:.0} a second",
                QUEUES as f64 / time.as_secs_f64()
            )?;
        }
    }
    let time = one_by_one(&place)?;
    writeln!(out, "{QUEUES} durable queues, one by one: {time:.1?}, {:.0?} each", time / QUEUES as u32)?;
    server.stop();
    Ok(())
}

/// The time from the first byte to the last answer.
fn declare(place: &str, connections: usize, prefix: &str) -> io::Result<Duration> {
    let start = Barrier::new(connections + 1);
    let all = (0..connections).map(|number| {
        let names = (0..QUEUES / connections).map(|queue| format!("{prefix}.{number}.{queue}"));
        let bytes: Vec<u8> = names.flat_map(|name| declaration(&name)).collect();
        Ok((Client::connect(place)?, bytes))
    });
    let all: Vec<(Client, Vec<u8>)> = all.collect::<io::Result<_>>()?;
    thread::scope(|scope| {
        let threads: Vec<_> = all
            .into_iter()
            .map(|(mut client, bytes)| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    client.stream.write_all(&bytes)?;
                    (0..QUEUES / connections).try_for_each(|_| client.await_answer())
                })
            })
            .collect();
        start.wait();
        let begin = Instant::now();
        for thread in threads {
            thread.join().map_err(|_| io::Error::other("a client panicked"))??;
        }
        Ok(begin.elapsed())
    })
}

fn one_by_one(place: &str) -> io::Result<Duration> {
    let mut client = Client::connect(place)?;
    let begin = Instant::now();
    for number in 0..QUEUES {
        client.stream.write_all(&declaration(&format!("one.{number}")))?;
        client.await_answer()?;
    }
    Ok(begin.elapsed())
}

fn declaration(name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let declare = queue::Declare { queue: name.as_bytes(), durable: true, ..Default::default() };
    Method::QueueDeclare(declare).encode(CHANNEL, &mut out);
    out
}

/// A client with one channel.
struct Client {
    stream: TcpStream,
    input: Vec<u8>,
    used: usize,
}

impl Client {
    fn connect(place: &str) -> io::Result<Client> {
        let stream = TcpStream::connect(place)?;
        stream.set_nodelay(true)?;
        let mut client = Client { stream, input: Vec::new(), used: 0 };
        let start_ok =
            connection::StartOk { mechanism: b"PLAIN", response: b"\0guest\0guest", ..Default::default() };
        let tune_ok = connection::TuneOk { channel_max: 1, frame_max: FRAME_SIZE, heartbeat: 0 };
        let mut out = PROTOCOL_HEADER.to_vec();
        Method::ConnectionStartOk(start_ok).encode(0, &mut out);
        Method::ConnectionTuneOk(tune_ok).encode(0, &mut out);
        Method::ConnectionOpen(connection::Open { virtual_host: b"/" }).encode(0, &mut out);
        Method::ChannelOpen(channel::Open {}).encode(CHANNEL, &mut out);
        client.stream.write_all(&out)?;
        // start, tune, open-ok and the channel's open-ok
        (0..4).try_for_each(|_| client.await_answer())?;
        Ok(client)
    }

    /// Waits for the next method. A close is an error.
    fn await_answer(&mut self) -> io::Result<()> {
        loop {
            let frame =
                decode_frame(&self.input[self.used..], FRAME_SIZE as usize).map_err(io::Error::other)?;
            let Some(frame) = frame else {
                self.input.drain(..self.used);
                self.used = 0;
                let mut buffer = [0; 65_536];
                let size = self.stream.read(&mut buffer)?;
                if size == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                self.input.extend_from_slice(&buffer[..size]);
                continue;
            };
            self.used += frame.size();
            if frame.kind == FrameKind::Method {
                let method = Method::decode(frame.payload).map_err(io::Error::other)?;
                if let Method::ConnectionClose(_) | Method::ChannelClose(_) = method {
                    return Err(io::Error::other(format!("{method:?}")));
                }
                return Ok(());
            }
        }
    }
}
