//! Queues of a virtual host.

mod id;

pub use id::QueueId;
