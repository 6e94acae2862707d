//! Shared memory: two rings of bytes between two processes of one host, beside the unix socket that joined them.
//!
//! One side makes a [`Segment`] (a sealed memfd) and passes its descriptor over the unix socket. Then both go on in the
//! rings. The unix socket stays: a byte on it is the doorbell (there is news in the rings), and its end tells of the
//! peer's death, at once and for any cause. Nothing has a name, so nothing is left when both are gone.
//!
//! ```text
//!   segment:  | words of ring 0 | words of ring 1 | bytes of ring 0  | bytes of ring 1  |
//!             0                 2048              4096               4096 + ring size    4096 + 2 ring sizes
//! ```
//!
//! The maker of the segment writes ring 0 and reads ring 1. A protocol lets the two sides find each other able, and
//! agree on the size. On a socket that carries nothing else `handover` does so.

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
