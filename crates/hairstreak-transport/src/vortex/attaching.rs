//! `Attaching`: the way of a process to a fabric by its unix socket, until it has a connection or a listener.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use super::address::VortexAddress;
use super::error::VortexError;
use super::hello::{ANSWER_SIZE, Attached, HELLO_SIZE, Hello, Wish, decode_answer};
use crate::endpoint::IpcAddress;
use crate::shm;
use crate::stream::connect_unix;

/// A hello on its way, then an answer.
#[derive(Debug)]
pub(crate) struct Attaching {
    fabric: String,
    hello: [u8; HELLO_SIZE],
    sent: usize,
    answer: [u8; ANSWER_SIZE],
    received: usize,
}

/// Progress of an attachment.
pub(crate) enum AttachProgress {
    WaitsToRead,
    WaitsToWrite,
    Done(Attached),
}

impl Attaching {
    /// A connection to `address`, which is complete.
    pub fn to_connect(address: &VortexAddress) -> Attaching {
        Attaching::new(address, Wish::Connect)
    }

    /// A listener at `address`.
    pub fn to_listen(address: &VortexAddress) -> Attaching {
        Attaching::new(address, Wish::Listen)
    }

    fn new(address: &VortexAddress, wish: Wish) -> Attaching {
        let hello = Hello { wish, from: address.from, rank: address.rank, port: address.port }.encode();
        Attaching { fabric: address.fabric.clone(), hello, sent: 0, answer: [0; ANSWER_SIZE], received: 0 }
    }

    /// Goes as far as the socket, which is connected to the fabric, lets it.
    pub fn advance(&mut self, socket: BorrowedFd<'_>) -> io::Result<AttachProgress> {
        while self.sent < HELLO_SIZE {
            match shm::send(socket, &self.hello[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(AttachProgress::WaitsToWrite);
                }
                // The fabric may have refused before it read the hello: the answer gives the reason.
                Err(_) => self.sent = HELLO_SIZE,
            }
        }
        while self.received < ANSWER_SIZE {
            // No byte more than the answer: others may follow.
            let mut room = [MaybeUninit::uninit(); ANSWER_SIZE];
            let room = &mut room[self.received..];
            match shm::receive(socket, room, &mut None) {
                Ok([]) => return Err(self.gone()),
                Ok(bytes) => {
                    self.answer[self.received..][..bytes.len()].copy_from_slice(bytes);
                    self.received += bytes.len();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(AttachProgress::WaitsToRead);
                }
                Err(_) => return Err(self.gone()),
            }
        }
        match decode_answer(self.answer) {
            Some(Ok(attached)) => Ok(AttachProgress::Done(attached)),
            Some(Err(refusal)) => Err(VortexError::Refused(refusal).into()),
            None => Err(VortexError::Stranger(self.fabric.clone()).into()),
        }
    }

    fn gone(&self) -> io::Error {
        VortexError::Gone(self.fabric.clone()).into()
    }
}

/// Bytes of a ring between a process and its card, in each direction.
pub(crate) const RING_SIZE: usize = 128 * 1024;

/// The socket of a fabric, within the host's abstract namespace.
pub(super) fn meeting_place(fabric: &str) -> IpcAddress {
    IpcAddress::Abstract(format!("hairstreak-fabric-{fabric}"))
}

/// Begins a connection to `address`. Returns the socket and whether it is connected already.
pub(crate) fn connect(address: &VortexAddress) -> io::Result<(OwnedFd, bool)> {
    if !address.is_complete() {
        return Err(VortexError::Wildcard(address.clone()).into());
    }
    reach(&address.fabric)
}

/// A socket to the fabric of a name.
pub(super) fn reach(fabric: &str) -> io::Result<(OwnedFd, bool)> {
    connect_unix(&meeting_place(fabric)).map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => VortexError::NoFabric(fabric.to_owned()).into(),
        // Others have waited so long that there is no room for one more.
        io::ErrorKind::WouldBlock => VortexError::NoAnswer(fabric.to_owned()).into(),
        _ => error,
    })
}
