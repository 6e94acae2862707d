//! Messages: as they arrive, as they lie in memory, and as a consumer sees them.
//!
//! - `views`: the published message, and the view of a delivered one
//! - `record`: the bytes of a stored message; the disk store writes the same
//! - `pool`: memory for messages to come
//! - `segments`, `slots`: where records lie, and how a queue names one in four bytes
//! - `store`: the messages of one virtual host, shared by all its queues

mod pool;
mod record;
mod segments;
mod slots;
mod store;
mod views;

pub use pool::SegmentPool;
pub use slots::MessageId;
pub(crate) use store::Store;
pub use views::{Attributes, BodyView, EXPIRY_MS_MAX, Message, MessageView};
