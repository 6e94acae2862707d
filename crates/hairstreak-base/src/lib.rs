//! The building blocks of Hairstreak's data path: messages and frames, their read and write buffers and the pool, the
//! single-producer rings between two engines and between two processes, the lock, and the timers.
//!
//! This crate knows no protocol, no socket and no clock; only [`memory_limit`] reads files of the system. The lock
//! and the ring run under loom (`RUSTFLAGS="--cfg loom"`).
//!
//! Reading order: [`Bytes`], [`Message`] and [`Body`], [`ReadBuffer`], [`OutgoingBuffer`], [`BlockPool`], [`AppendBuffer`], [`ring`],
//! [`byte_ring`], [`Lock`], [`fence`], [`sync`], [`TimerQueue`].

mod append_buffer;
mod block;
mod body;
pub mod byte_ring;
mod bytes;
mod copy;
pub mod fence;
mod framing;
mod index;
mod lender;
mod lock;
mod memory_limit;
mod message;
mod outgoing;
mod pool;
pub mod process;
mod read_buffer;
mod retained;
pub mod ring;
pub mod sync;
mod timer_queue;

pub use append_buffer::{AppendBuffer, HUGE_PAGE_SIZE};
pub use body::Body;
pub use bytes::{Bytes, INLINE_SIZE_MAX};
pub use framing::{FrameShape, Framing, Header};
pub use index::Index;
pub use lock::{Lock, LockGuard, OwnerGuard};
pub use memory_limit::{available_memory, memory_limit, trim_allocator};
pub use message::Message;
pub use outgoing::{OutgoingBuffer, SEGMENT_SIZE};
pub use pool::{BlockPool, SPARE_BYTES_MAX};
pub use read_buffer::{BodyBuffer, READ_SIZE, ReadBuffer};
pub use retained::{RetainedBytes, RetainedPart};
pub use timer_queue::TimerQueue;
