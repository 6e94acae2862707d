//! As much of AMQP 0-9-1 as a load generator needs, written by hand: no library stands between the socket and the count.
//!
//! Frames are built once and written many times; whatever arrives is walked frame by frame and not decoded. This is no
//! client for general use: one channel, no heartbeats, and every refusal of the broker is an error.

mod encode;
mod error;
mod link;
mod methods;
mod read_buffer;
mod version;
mod walk;

pub use encode::{Argument, push_body, push_method, push_publish, push_publish_head, push_publish_to_all};
pub use error::AmqpError;
pub use link::{CHANNEL, FRAME_SIZE_MAX, Link};
pub use methods::*;
pub use read_buffer::ReadBuffer;
pub use walk::{MARKER, Visitor, Walk, frame_size};
