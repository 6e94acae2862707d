//! The protocols that Hairstreak speaks, sans-IO: bytes in, bytes and events out.
//!
//! Nothing here opens a socket, reads a clock or knows a runtime, so a simulator can drive every
//! state machine and a fuzzer can reach every decoder.
//!
//! Invariants, for every decoder in this crate:
//! - input from a peer never panics; it is decoded or refused with an error that says what was wrong
//!   and whose fault it was ([`Blame`]);
//! - memory is taken for bytes that have arrived, never for bytes that a length field announces,
//!   and never beyond a named limit.

pub mod amqp;
mod blame;
pub mod directory;
pub mod hsn1;
pub mod management;
pub mod mdp;
pub mod settlement;
pub mod zmtp;

pub use blame::Blame;
