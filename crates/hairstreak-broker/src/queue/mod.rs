//! Queues: what is declared, the messages that wait, and who takes them.

mod declaration;
mod id;

pub use declaration::{ConsumerDeclaration, QueueDeclaration, QueueStatus};
pub use id::QueueId;
