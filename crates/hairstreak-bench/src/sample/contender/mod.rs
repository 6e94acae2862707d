//! The contenders, behind one contract: the same loops time all of them.
//!
//! Every file or folder but the contract is one contender. The limit programs are no messaging systems: they do only
//! the unavoidable work of a case, and show the distance of a contender from the machine.

mod cipher_limit;
mod contract;
mod keys;
mod libzmq;
mod libzmq_api;
mod ours;
mod ring_limit;
mod ring_memory;
mod stream_limit;

pub use contract::{Component, Contender, Echoing, Opening, Receiving, Sending, failed};
pub use libzmq::{Libzmq, RIVAL_NAME, setting};
pub use libzmq_api::{Context as LibzmqContext, Socket as LibzmqHandle, SocketType as LibzmqType};
pub use ours::Ours;
pub use ring_limit::RingLimit;
pub use stream_limit::StreamLimit;
