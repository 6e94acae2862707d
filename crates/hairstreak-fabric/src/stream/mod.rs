//! Ordered streams of bytes between cards, whose words have no order.
//!
//! ```text
//!   sender                                   receiver
//!     Want   ------ FIFO ------------------>   has chunks of memory, each with a counter
//!     <------------ FIFO ------------------  Grant (chunk)
//!     words  ------ memory, counter ------->   counts down
//!     Filled (chunk, place, size) -- FIFO ->   expects so many words; whole when none is missing
//! ```
//!
//! Whole chunks are emptied by their place in the stream, not in the order in which they became whole, and are free
//! again at once. Bytes that the application has not read stay with their stream, which is granted no chunk while it
//! holds too many.

mod chunks;
mod control;
mod receiving;
mod sending;
mod streams;
mod turns;

pub use receiving::Found;
pub use streams::{OpenError, StreamEvent, StreamId, Streams};
