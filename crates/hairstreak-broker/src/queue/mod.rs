//! Queues: the declared queues, their waiting messages, and their consumers.
//!
//! - `declaration`, `arguments`: queues as clients declare them
//! - `settings`: the current settings of a queue, from its arguments and policies
//! - `entries`, `ready`: the messages that wait, by priority and in their order
//! - `lease`: the messages that may be delivered
//! - `consumer`, `rotation`: the consumers of a queue, and the order of their turns
//! - `live`, `counts`, `capacity`, `queues`: one queue, its counters, and all queues of a virtual host
//! - `death`: the headers of messages that died or came back

mod arguments;
mod capacity;
mod consumer;
mod counts;
mod death;
mod declaration;
mod durability;
mod entries;
mod kind;
mod lease;
mod live;
mod paged;
mod queues;
mod ready;
mod rotation;
mod settings;

pub(crate) use arguments::{
    check_consumer_arguments, check_durability_of, check_queue_arguments, known_arguments,
};
pub use capacity::Capacity;
pub(crate) use consumer::{Consumer, Consumers, Standing};
pub(crate) use death::{Death, Reason, add_death, add_delivery_count, extra_keys, is_cycle};
pub use declaration::{ConsumerDeclaration, QueueDeclaration, QueueStatus};
pub use durability::Durability;
pub(crate) use entries::{Entry, Marks, NEVER};
pub(crate) use kind::QUEUE_TYPE;
pub use kind::QueueId;
pub use kind::QueueKind;
pub(crate) use lease::Lease;
pub(crate) use live::Queue;
pub(crate) use live::check_equivalence;
pub use paged::StoredMessages;
pub(crate) use paged::{Paged, StoredPages};
pub(crate) use queues::Queues;
pub(crate) use ready::{Kept, Ready};
pub(crate) use rotation::Rotation;
pub(crate) use settings::{DeadLetterTarget, Overflow};
