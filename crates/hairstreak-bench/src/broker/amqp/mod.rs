//! As much of AMQP 0-9-1 as a load generator needs: no client library stands between the socket and the count.
//!
//! Frames are built once and written many times. Received messages are walked and not decoded; answers are decoded by
//! `hairstreak_wire`. This is no client for general use: it has one channel and no heartbeats, and every refusal of the broker is
//! an error.
//!
//! - `methods`: numbers of the protocol
//! - `encode`: frames
//! - `input`: the buffer of received bytes, counts of messages, and errors
//! - `link`: a connection with a channel

mod encode;
mod input;
mod link;
mod methods;

pub use encode::{
    Argument, EMPTY_TABLE, push_body, push_method, push_persistent, push_publish, push_publish_head,
    push_publish_to_all,
};
pub use input::{AmqpError, MARKER, ReadBuffer, SILENCE_MAX, Visitor, Walk, frame_size};
pub use link::Link;
pub use methods::*;
