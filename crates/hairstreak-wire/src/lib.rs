//! The protocols that Hairstreak speaks, sans-IO: bytes in, bytes and events out.
//!
//! This crate opens no socket, reads no clock and knows no runtime. A simulator can therefore drive every state
//! machine, and a fuzzer can reach every decoder.
//!
//! Invariants, for every decoder in this crate:
//! - input from a peer never panics; it is decoded or rejected, with an error that names the defect and the side at
//!   fault ([`Blame`]);
//! - memory is taken for bytes that have arrived, never for bytes that a length field announces, and never beyond a
//!   named limit.

pub mod amqp;
mod blame;
pub mod directory;
pub mod hsn1;
pub mod management;
pub mod mdp;
pub mod settlement;
pub mod zmtp;

pub use blame::Blame;
