//! Shared memory: two rings of bytes between two processes of one host, beside the unix socket that joined them.
//!
//! One side makes a [`Segment`] (a sealed memfd), passes its descriptor over the unix socket, and both go on in the
//! rings. The unix socket stays: a byte on it is the doorbell (there is news in the rings), and its end tells of the
//! peer's death, at once and whatever killed it. Nothing has a name, so nothing is left when both are gone.
//!
//! ```text
//!   segment:  | words of ring 0 | words of ring 1 | bytes of ring 0  | bytes of ring 1  |
//!             0                 2048              4096               4096 + ring size    4096 + 2 ring sizes
//! ```
//!
//! Who made the segment writes ring 0 and reads ring 1. How the two find out that they can, and agree on the size, is a
//! protocol's matter, or that of `handover` on a socket that carries nothing else.

mod handover;
mod memory;
mod passing;
mod preamble;
mod rings;
mod segment;

pub use handover::HandoverError;
pub(crate) use handover::{Giving, Handover, Taking};
pub(crate) use memory::SharedMemory;
pub use memory::{RING_SIZE_MAX, RING_SIZE_MIN, SegmentError};
pub(crate) use passing::{receive, send, send_with};
pub use preamble::Refusal;
pub(crate) use rings::Rings;
pub use segment::{Segment, Side};
