//! Layers: what the two sides of a connection put between their socket and their bytes.
//!
//! The caller decides, not the address: both sides have to have decided alike.

use super::tls::{TlsClient, TlsServer};

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
