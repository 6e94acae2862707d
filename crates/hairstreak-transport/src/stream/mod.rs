//! Byte streams: sockets, and the layers between a socket and its bytes.
//!
//! ```text
//!   connect, accept --Establishing--> bytes through the socket
//!                                     bytes through rings in shared memory; the socket is the doorbell
//!                                     bytes through TLS, over the socket
//! ```
//!
//! Reading order: `byte_stream` (the operations of every stream), `establish` (the steps before the first byte),
//! `socket`, `tls`.

mod byte_stream;
mod establish;
mod socket;
pub mod tls;

pub use byte_stream::Stream;
pub use establish::Established;
pub use establish::{ClientLayer, ServerLayer};
pub(crate) use socket::{connect_unix, pair, unix_address};
