//! The load generator: the clients of a sample, each kind a process, each connection a thread with a blocking socket.
//!
//! A producer writes blocks of prebuilt publishes, a consumer walks what a large read brought. Neither decodes a frame
//! or allocates for a message.

mod block;
mod clock;
mod confirms;
mod consumer;
mod entry;
mod error;
mod meter;
mod paced;
mod producer;
mod round_trip;

pub(crate) use clock::now_ns;
pub use entry::take_part;
pub use error::ClientError;
