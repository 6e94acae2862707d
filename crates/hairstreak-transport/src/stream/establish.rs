//! The start of a stream before its first byte: the outcome of the connect, then the steps of its layer.
//!
//! ```text
//!   connecting --connected--> plain: the socket's bytes
//!                             attaching (vortex/attaching.rs) --the fabric's answer--> giving
//!                             giving, taking (shm/handover.rs) --agreed--> the rings' bytes
//!                             handshake (tls/handshake.rs) --agreed--> the bytes in the records of TLS
//! ```
//!
//! - Layers: the protocol steps that the two sides put between their socket and their bytes.

use std::io;
use std::os::fd::BorrowedFd;

use super::socket;
use super::tls::{Handshake, Progress, Tls, TlsClient, TlsServer};
use crate::shm::{Giving, Handover, Rings, Side, Taking};
use crate::vortex::{self, AttachProgress, Attaching};

/// Progress of a stream towards its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Established {
    /// The stream reads and writes. Bytes may be here that make no further event: read it now.
    Done,
    /// An event will tell that there is something to read.
    WaitsToRead,
    /// An event will tell that there is room to write, or that the connect is decided.
    WaitsToWrite,
}

/// A stream before its first byte.
#[derive(Debug)]
pub(super) struct Establishing {
    is_connected: bool,
    /// The poller reported the peer's end before there were rings to note it.
    peer_ended: bool,
    next: Next,
}

/// The step that follows when the socket is connected.
#[derive(Debug)]
pub(super) enum Next {
    Plain,
    /// The other end is reached through a fabric, by rings.
    Attaching(Attaching),
    Giving(Giving),
    Taking(Taking),
    Securing(Handshake),
}

/// Result of a step.
pub(super) enum Outcome {
    Waits(Established),
    Plain,
    Rings(Box<Rings>),
    Tls(Box<Tls>),
}

impl Establishing {
    pub fn new(is_connected: bool, next: Next) -> Establishing {
        Establishing { is_connected, peer_ended: false, next }
    }

    pub fn on_peer_ended(&mut self) {
        self.peer_ended = true;
    }

    /// Another layer than before for a stream on which nothing has happened yet.
    pub fn set_next(&mut self, next: Next) {
        self.next = next;
    }

    /// Goes as far as the socket lets it.
    pub fn advance(&mut self, socket: BorrowedFd<'_>) -> io::Result<Outcome> {
        if !self.is_connected {
            self.is_connected = socket::is_connected(socket)?;
        }
        if !self.is_connected {
            return Ok(Outcome::Waits(Established::WaitsToWrite));
        }
        if let Next::Attaching(attaching) = &mut self.next {
            match attaching.advance(socket)? {
                AttachProgress::WaitsToRead => return Ok(Outcome::Waits(Established::WaitsToRead)),
                AttachProgress::WaitsToWrite => return Ok(Outcome::Waits(Established::WaitsToWrite)),
                AttachProgress::Done(_) => self.next = Next::Giving(Giving::new(vortex::RING_SIZE)),
            }
        }
        let (handover, side) = match &mut self.next {
            Next::Plain | Next::Attaching(_) => return Ok(Outcome::Plain),
            Next::Giving(giving) => (giving.advance(socket)?, Side::Giver),
            Next::Taking(taking) => (taking.advance(socket)?, Side::Taker),
            Next::Securing(handshake) => {
                return Ok(match handshake.advance(socket)? {
                    Progress::WaitsToRead => Outcome::Waits(Established::WaitsToRead),
                    Progress::WaitsToWrite => Outcome::Waits(Established::WaitsToWrite),
                    Progress::Done(tls) => Outcome::Tls(tls),
                });
            }
        };
        Ok(match handover {
            Handover::WaitsToRead => Outcome::Waits(Established::WaitsToRead),
            Handover::WaitsToWrite => Outcome::Waits(Established::WaitsToWrite),
            Handover::Agreed(segment) => {
                let mut rings = Rings::new(segment, side);
                if self.peer_ended {
                    rings.on_peer_gone();
                }
                Outcome::Rings(Box::new(rings))
            }
        })
    }
}

/// The connecting side's layer; see [`Stream::with_client_layer`](crate::Stream::with_client_layer).
#[derive(Clone, Debug)]
pub enum ClientLayer {
    /// None: the socket's bytes are the stream's.
    Plain,
    /// Rings in shared memory, over a unix socket. This side makes them and passes them on.
    Rings {
        /// Bytes in each direction: a power of two from [`RING_SIZE_MIN`](crate::shm::RING_SIZE_MIN) to
        /// [`RING_SIZE_MAX`](crate::shm::RING_SIZE_MAX).
        ring_size: usize,
    },
    /// TLS, over any socket.
    Tls(TlsClient),
}

/// The accepting side's layer; see [`Listener::with_layer`](crate::Listener::with_layer).
#[derive(Clone, Debug)]
pub enum ServerLayer {
    /// None: the socket's bytes are the stream's.
    Plain,
    /// Rings in shared memory that the connecting side passes over the unix socket.
    Rings {
        /// A peer that brings larger ones, in bytes in each direction, is refused.
        ring_size_max: usize,
    },
    /// TLS, over any socket.
    Tls(TlsServer),
}
