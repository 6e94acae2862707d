//! The limit of tcp and ipc: bare framing over a stream, or both ways over one, with one lock exchange per call at each
//! end.
//!
//! The sender frames into one buffer and writes it when the next message does not fit; the receiver reads into one
//! buffer and parses in place. Large bodies skip both buffers. The framing is ZMTP's (a flag byte, one or eight bytes
//! of size). The lock is the least cost of a handle that may be shared. No handshake, no queue, no second thread.
//!
//! - `limit`: the program, and the ends that it opens
//! - `link`: the streams between ends
//! - `end`: an end, its lock, framing and writing
//! - `input`: reading and parsing

mod end;
mod input;
mod limit;
mod link;

pub use limit::StreamLimit;
