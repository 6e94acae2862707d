//! `Raw`: a peer that writes ZMTP by hand, or anything else; and the bytes it is made of.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::LONG;

pub const MORE: u8 = 1;
pub const LONG_SIZE: u8 = 2;
pub const COMMAND: u8 = 4;

/// A peer that takes nothing for so long takes no more.
const STUCK: Duration = Duration::from_millis(300);

/// One end of a tcp or unix stream.
pub enum Raw {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Raw {
    /// Connects to an endpoint as a socket's bind gives it.
    pub fn connect(place: &str) -> Raw {
        match place.split_once("://").unwrap() {
            ("tcp", address) => Raw::Tcp(TcpStream::connect(address).unwrap()),
            (_, path) => Raw::Unix(UnixStream::connect(path).unwrap()),
        }
    }

    /// Connects and does its half of the handshake as a socket of this type, then reads the other half.
    pub fn ready(place: &str, socket_type: &str) -> Raw {
        let mut raw = Raw::connect(place);
        raw.send(&greeting());
        raw.send(&ready(&[("Socket-Type", socket_type.as_bytes())]));
        raw.read_handshake();
        raw
    }

    /// Reads the peer's greeting and READY.
    pub fn read_handshake(&mut self) {
        self.read_exactly(64);
        let header = self.read_exactly(2);
        assert_eq!(header[0], COMMAND, "a short command");
        assert_eq!(&self.read_exactly(header[1].into())[..6], b"\x05READY");
    }

    /// Writes all of it, unless the peer has closed.
    pub fn send(&mut self, bytes: &[u8]) {
        // A peer that has had enough is what most of these tests are about.
        let _ = self.stream().write_all(bytes);
    }

    /// Writes all of it, however long the peer takes to take it.
    pub fn send_all(&mut self, bytes: &[u8]) {
        self.set_write_timeout(LONG);
        self.stream().write_all(bytes).expect("the peer takes it");
    }

    /// Writes `bytes` over and over until the peer takes no more, or has taken `size_max`. Returns how much it
    /// took at least.
    pub fn send_until_stuck(&mut self, bytes: &[u8], size_max: usize) -> usize {
        self.set_write_timeout(STUCK);
        let mut size = 0;
        while size < size_max {
            match self.stream().write_all(bytes) {
                Ok(()) => size += bytes.len(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => panic!("after {size} bytes: {error}"),
            }
        }
        size
    }

    pub fn read_exactly(&mut self, size: usize) -> Vec<u8> {
        self.set_read_timeout(LONG);
        let mut bytes = vec![0; size];
        self.stream().read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Waits until the peer has closed the connection; returns what it had sent before.
    pub fn wait_for_end(&mut self) -> Vec<u8> {
        self.set_read_timeout(LONG);
        let mut bytes = Vec::new();
        match self.stream().read_to_end(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => panic!("the connection is not closed"),
            // A reset is an end too: the peer closed with bytes unread.
            _ => bytes,
        }
    }

    /// Says that it will write no more, and goes on reading.
    pub fn end(&mut self) {
        // The peer may have closed before.
        let _ = match self {
            Raw::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Raw::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    fn stream(&mut self) -> &mut dyn ReadWrite {
        match self {
            Raw::Tcp(stream) => stream,
            Raw::Unix(stream) => stream,
        }
    }

    fn set_write_timeout(&self, timeout: Duration) {
        match self {
            Raw::Tcp(stream) => stream.set_write_timeout(Some(timeout)).unwrap(),
            Raw::Unix(stream) => stream.set_write_timeout(Some(timeout)).unwrap(),
        }
    }

    fn set_read_timeout(&self, timeout: Duration) {
        match self {
            Raw::Tcp(stream) => stream.set_read_timeout(Some(timeout)).unwrap(),
            Raw::Unix(stream) => stream.set_read_timeout(Some(timeout)).unwrap(),
        }
    }
}

trait ReadWrite: Read + Write {}
impl<S: Read + Write> ReadWrite for S {}

/// The greeting of ZMTP 3.1 with NULL.
pub fn greeting() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    (bytes[0], bytes[9], bytes[10], bytes[11]) = (0xff, 0x7f, 3, 1);
    bytes[12..16].copy_from_slice(b"NULL");
    bytes
}

/// A frame with these flags, its size written long when it has to be.
pub fn frame(flags: u8, body: &[u8]) -> Vec<u8> {
    match u8::try_from(body.len()) {
        Ok(size) => [&[flags, size], body].concat(),
        Err(_) => [&long_header(flags, body.len() as u64), body].concat(),
    }
}

/// The header of a long frame, whatever its size.
pub fn long_header(flags: u8, size: u64) -> Vec<u8> {
    [&[flags | LONG_SIZE][..], &size.to_be_bytes()].concat()
}

pub fn command(name: &str, data: &[u8]) -> Vec<u8> {
    frame(COMMAND, &[&[name.len() as u8], name.as_bytes(), data].concat())
}

pub fn property(name: &str, value: &[u8]) -> Vec<u8> {
    [&[name.len() as u8], name.as_bytes(), &(value.len() as u32).to_be_bytes(), value].concat()
}

pub fn ready(properties: &[(&str, &[u8])]) -> Vec<u8> {
    let metadata: Vec<u8> = properties.iter().flat_map(|(name, value)| property(name, value)).collect();
    command("READY", &metadata)
}
