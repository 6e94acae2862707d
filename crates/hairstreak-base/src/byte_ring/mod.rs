//! A ring of bytes between two processes that do not trust each other: one writes, one reads.
//!
//! The bytes and the words that say where they are lie in memory that both sides map ([`RingMemory`]). Each
//! side keeps its own position to itself and publishes a copy; **what the other side wrote is checked at every
//! look** and is never a reason to touch memory outside of the ring. A position that cannot be is an error
//! ([`RingError`]), after which the ring is of no more use. What a hostile side can do is to send garbage, or nothing.
//!
//! ```text
//!   words, each group on lines of its own:
//!   tail           u64  bytes written so far, wrapping          the writer's
//!   ended          u32  not 0: the writer writes no more         the writer's
//!   head           u64  bytes read so far, wrapping             the reader's
//!   reader_waits   u32  not 0: ring when there are bytes          set by the reader, taken by the writer
//!   writer_waits   u32  not 0: ring when half the ring is free    set by the writer, taken by the reader
//! ```
//!
//! **Waiting.** A side that cannot go on says so in its word, passes a full fence, and looks once more; the other
//! side publishes, passes a full fence, and looks at the word. One of them sees the other. How a side is rung is
//! its owner's business; it is never rung twice for one wait.

mod reader;
mod words;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::RingReader;
pub use words::{RingError, RingMemory, RingWords};
pub use writer::RingWriter;
