//! The load generator: the clients of a sample, each kind a process, each connection a thread with a blocking socket.
//!
//! A producer writes blocks of prebuilt publishes, a consumer walks the bytes of a large read. Neither decodes a frame or
//! allocates for a message.
//!
//! - `process`: a client process, its connections and their threads; consumers and round trips
//! - `producer`: publishes as fast as the socket takes them, by confirms, or at a rate

mod process;
mod producer;

pub use process::{open, take_part, work};
pub use producer::{Block, publish};
