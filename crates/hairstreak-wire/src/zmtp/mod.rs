//! ZMTP 3.1 and 3.0, the protocol between ZeroMQ sockets (RFC 37, RFC 23).
//!
//! A connection begins with a [`handshake`]: both sides send a 64 byte [`greeting`], then the commands of the
//! `mechanism` that the greetings name. The exchange of [`metadata`] ends the handshake. Traffic follows: a stream of
//! frames ([`frame`]), each a part of a message or a [`command`].
//!
//! Not in this module: the handling of messages by each socket type (the socket crate), and the timing of PINGs and
//! timeouts (the owner of the connection, which has a clock).

pub mod command;
pub mod frame;
pub mod greeting;
pub mod handshake;
mod mechanism;
pub mod metadata;
pub mod peer;
mod progress;
pub mod role;
pub mod shm;
pub mod socket_type;

pub use command::{Command, CommandError};
pub use frame::{FrameError, FrameHeader};
pub use greeting::{Greeting, GreetingError};
pub use handshake::{Handshake, HandshakeLimits};
pub use mechanism::curve;
pub use metadata::{MetadataError, Properties};
pub use peer::{LocalPeer, PeerError, RemotePeer};
pub use progress::HandshakeError;
pub use role::{Credentials, Role, Verdict};
pub use shm::{SharedDeal, SharedStep, SharedTerms};
pub use socket_type::SocketType;
