//! The limit: the least that a broker must do, in a process of its own between the same producers and consumers.
//!
//! It reads, compares each method frame of a publish with the one before, finds the end of the content, writes a
//! basic.deliver before it and passes it to the consumers of the queue that the key leads to. It has a thread for each
//! connection and no queue: messages without a consumer are counted and forgotten, others are written at once.
//! With a disk, the bytes of publishes are written and synced before their confirms.
//! Declarations are answered so that the same clients run against it. It is no broker for other clients.
//!
//! - `connection`: connections, and answers to all methods but publishes
//! - `relay`: queues, and the loop that makes deliveries of publishes
//! - `disk`: the file of a limit that keeps messages, and its syncs

mod connection;
mod disk;
mod relay;

pub use connection::serve;
pub use disk::Disk;
