//! `Attachment`: a process's socket at the fabric.

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use super::hello::{FabricRefusal, HELLO_SIZE, Hello, may_begin};
use super::link::Link;
use crate::shm;
use crate::stream::Stream;

/// Connections that a listener's process has not taken.
const BACKLOG_MAX: usize = 256;

/// A process's socket.
#[derive(Debug)]
pub(super) struct Attachment {
    /// Distinguishes an event of this attachment from a late event of an earlier one in its place.
    pub serial: u32,
    pub process: u32,
    pub stream: Stream,
    pub kind: Kind,
}

/// The purpose of the socket, and the rank that the process has there.
#[derive(Debug)]
pub(super) enum Kind {
    Greeting(Greeting),
    Listening(u32, Listening),
    Link(u32, Link),
}

/// A process that has not sent its wish.
#[derive(Debug)]
pub(super) struct Greeting {
    hello: [u8; HELLO_SIZE],
    received: usize,
}

impl Greeting {
    pub fn new() -> Greeting {
        Greeting { hello: [0; HELLO_SIZE], received: 0 }
    }

    /// Reads the bytes of the hello. `None`: more bytes are needed, and an event reports them.
    ///
    /// # Errors
    ///
    /// The process has ended, or sends no valid hello.
    pub fn advance(&mut self, stream: &Stream) -> io::Result<Option<Result<Hello, FabricRefusal>>> {
        while self.received < HELLO_SIZE {
            // No byte more than the hello: others may follow.
            let mut room = [MaybeUninit::uninit(); HELLO_SIZE];
            match shm::receive(stream.socket(), &mut room[self.received..], &mut None) {
                Ok([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => {
                    self.hello[self.received..][..bytes.len()].copy_from_slice(bytes);
                    self.received += bytes.len();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
            if !may_begin(&self.hello[..self.received]) {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Hello::decode(&self.hello).map(Some).ok_or(io::ErrorKind::InvalidData.into())
    }
}

/// A process that takes streams to a port.
#[derive(Debug)]
pub(super) struct Listening {
    pub port: u16,
    /// Connections that the socket has no room for.
    waiting: VecDeque<OwnedFd>,
}

impl Listening {
    pub fn new(port: u16) -> Listening {
        Listening { port, waiting: VecDeque::new() }
    }

    /// Passes a connection on. Returns whether the process takes it, now or later.
    pub fn pass(&mut self, stream: &Stream, connection: OwnedFd) -> bool {
        if self.waiting.len() >= BACKLOG_MAX {
            return false;
        }
        self.waiting.push_back(connection);
        self.flush(stream)
    }

    /// Passes on as many bytes as there is room for. Returns whether the process is there.
    pub fn flush(&mut self, stream: &Stream) -> bool {
        while let Some(connection) = self.waiting.front() {
            match shm::send_with(stream.socket(), &[0], connection.as_fd()) {
                Ok(_) => self.waiting.pop_front(),
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            };
        }
        true
    }
}
