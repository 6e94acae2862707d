//! ZMTP without a socket: the codecs and the handshake with valid and invalid bytes.
//!
//! Bytes called `LIBZMQ_...` were captured from libzmq 4.3.5, not written by our own encoders.

mod command;
mod frame;
mod framing;
mod greeting;
mod handshake;
mod hostile;
mod metadata;
mod pair;
mod refusal;
mod secured;
mod socket_type;
