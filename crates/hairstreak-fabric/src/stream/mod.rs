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
//! Chunks are handed to the application by their place in the stream, whatever the order in which they became whole.

mod chunks;
mod control;
mod streams;

pub use streams::{Found, OpenError, StreamEvent, StreamId, Streams};
