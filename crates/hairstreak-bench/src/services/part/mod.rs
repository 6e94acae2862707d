//! A process of a service: its part of one sample, timed and verified.
//!
//! `entry` reads what is to be done and has what every part needs, `asking` is the client's loop, whoever's it is; the
//! rest is one file or folder for each [`Scheme`](super::Scheme).

mod asking;
mod entry;
mod error;
mod majordomo;
mod our_proxy;
mod our_services;
mod zmq_proxy;

pub use entry::take_part;
pub use error::PartError;
pub(super) use our_proxy::YIELD_US;
pub(super) use our_services::{CAPACITY, PLAIN_CAPACITY};
