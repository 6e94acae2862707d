//! As much of AMQP 0-9-1 as a load generator needs, written by hand: no library stands between the socket and the count.
//!
//! Frames are built once and written many times. Received frames are walked and not decoded. This is no client for general
//! use: it has one channel and no heartbeats, and every refusal of the broker is an error.
//!
//! - `methods`: numbers of the protocol
//! - `encode`: frames
//! - `input`: the buffer of received bytes, counts of messages, and errors
//! - `link`: a connection with a channel

mod encode;
mod input;
mod link;
mod methods;

pub use encode::{Argument, push_body, push_method, push_publish, push_publish_head, push_publish_to_all};
pub use input::{AmqpError, MARKER, ReadBuffer, Visitor, Walk, frame_size};
pub use link::Link;
pub use methods::*;
