//! A byte ring between two processes that do not trust each other: one writes, the other reads.
//!
//! The bytes and the words with their positions lie in memory that both sides map ([`RingMemory`]). Each side keeps
//! its own position private and publishes a copy. **Values written by the other side are checked at every look**, and
//! never cause an access outside of the ring. An impossible position is an error ([`RingError`]); the ring is
//! unusable afterwards. A hostile side can only send garbage or nothing.
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
//! **Waiting.** A side that cannot continue sets its word, passes a full fence, and looks again. The other side
//! publishes, passes a full fence, and looks at the word. At least one of them sees the other. The owner of a side
//! decides how the side is rung; it is never rung twice for one wait.

mod reader;
mod words;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::RingReader;
pub use words::{RingError, RingMemory, RingWords};
pub use writer::RingWriter;
