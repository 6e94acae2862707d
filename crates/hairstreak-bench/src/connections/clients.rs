//! The clients: ends of the relay's connections, and idle ZMTP peers of the node, all in the benchmark's own process.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hairstreak_transport::{Interest, Poller};

/// The body of a round trip.
const BODY_SIZE: usize = 64;

/// A client of the relay, and the far end of its way.
pub(super) struct Way {
    client: TcpStream,
    far: TcpStream,
}

impl Way {
    /// Connects through the relay at `relay`, which leads to `far`.
    pub fn open(relay: SocketAddr, far: &TcpListener) -> Result<Way> {
        let client = TcpStream::connect(relay)?;
        let (far, _) = far.accept()?;
        for end in [&client, &far] {
            end.set_nodelay(true)?;
        }
        Ok(Way { client, far })
    }

    /// Makes round trips, one at a time, for `time`. Returns their number in a second.
    pub fn round_trips(&mut self, time: Duration) -> Result<f64> {
        let (start, mut count) = (Instant::now(), 0);
        let mut body = [0; BODY_SIZE];
        while start.elapsed() < time {
            self.client.write_all(&body)?;
            self.far.read_exact(&mut body)?;
            self.far.write_all(&body)?;
            self.client.read_exact(&mut body)?;
            count += 1;
        }
        Ok(f64::from(count) / start.elapsed().as_secs_f64())
    }
}

const GREETING_SIZE: usize = 64;
const READY: &[u8] = b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER";
/// A PING without a context: its header, its name, its time to live.
const PING: &[u8] = b"\x04\x07\x04PING";
const PING_SIZE: usize = 9;
const PONG: &[u8] = b"\x04\x05\x04PONG";

/// Idle peers and a poller that watches them.
pub(super) struct Peers {
    streams: Vec<TcpStream>,
    poller: Poller,
}

impl Peers {
    /// Connects `count` peers that speak ZMTP 3.`minor`.
    pub fn connect(address: SocketAddr, count: usize, minor: u8) -> Result<Peers> {
        let poller = Poller::new()?;
        let mut streams = Vec::with_capacity(count);
        for index in 0..count {
            let stream = greet(address, minor)?;
            poller.add(&stream, index as u64, Interest::Edges)?;
            streams.push(stream);
        }
        Ok(Peers { streams, poller })
    }

    /// Answers PINGs for as long as `time`. Returns their number.
    pub fn idle(&mut self, time: Duration) -> Result<u64> {
        let end = Instant::now() + time;
        let (mut ready, mut ping_count) = (Vec::new(), 0);
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            ready.clear();
            self.poller.wait(Some(left), |event| ready.push(event.token as usize))?;
            for index in &ready {
                ping_count += answer(&mut self.streams[*index])?;
            }
        }
        Ok(ping_count)
    }
}

fn greet(address: SocketAddr, minor: u8) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    let mut greeting = [0; GREETING_SIZE];
    (greeting[0], greeting[9]) = (0xff, 0x7f);
    (greeting[10], greeting[11]) = (3, minor);
    greeting[12..16].copy_from_slice(b"NULL");
    stream.write_all(&greeting)?;
    stream.read_exact(&mut greeting)?;
    stream.write_all(READY)?;
    let mut header = [0; 2];
    stream.read_exact(&mut header)?;
    // The node's READY is a short command.
    stream.read_exact(&mut vec![0; header[1].into()])?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Answers the PINGs that are here. Returns their number.
fn answer(stream: &mut TcpStream) -> Result<u64> {
    let mut bytes = [0; 1024];
    let mut count = 0;
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => bail!("the node has closed the connection"),
            Ok(size) => {
                let pings = bytes[..size].chunks(PING_SIZE).filter(|chunk| chunk.starts_with(PING)).count();
                stream.write_all(&PONG.repeat(pings))?;
                count += pings as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(count),
            Err(error) => return Err(error.into()),
        }
    }
}
