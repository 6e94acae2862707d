//! A virtual host: exchanges, queues, channels and consumers as one machine, events in and effects out.
//!
//! ```text
//!   server --- publish, consume, ack, handle_timeout ... (now, &mut outbox) ---> VirtualHost
//!                                                                                  |  outbox.deliver(recipient, tag, message)
//!   consumers' connections <-------------------------------------------------------+
//!              --------------------------------------------------------------------> |  Room: More, Full
//! ```
//!
//! - Every call with effects borrows a [`HostOutbox`]. The machine uses the outbox during the call only.
//! - `now` is the time in milliseconds since 1970 and never runs backwards. The driver asks its clock once for each batch.
//! - A refused request gets a [`Refusal`](crate::Refusal). The server closes the channel or the connection, by the scope of its
//!   reply code.
//!
//! Files:
//! - `options`, `outbox`, `route`, `publishing`: the arguments of calls, and messages that take more than one call
//! - `appends`, `pages`: changes for the message log, and messages on their way to the disk and back
//! - `channels`, `unacked`: connections and channels, and the unsettled deliveries of each channel
//! - `timers`, `letters`, `chores`, `names`: expiry, waiting dead letters, operations in several calls, generated names
//! - `parts`: the parts of the machine, and one call
//! - `declare`, `consumers`, `credit`, `views`: functions on the parts without effects on consumers
//! - `turn`: the operations with effects
//! - `virtual_host`: the public face

mod appends;
mod channels;
mod chores;
mod consumers;
mod credit;
mod declare;
mod letters;
mod names;
mod options;
mod outbox;
mod pages;
mod parts;
mod publishing;
mod route;
#[cfg(test)]
mod tests;
mod timers;
mod turn;
mod unacked;
mod views;
mod virtual_host;

pub use crate::message::SegmentPool;
pub use crate::queue::StoredMessages;
pub use appends::{LogChange, LogRun, LogTarget};
pub use channels::{ChannelMode, Channels};
pub use declare::check_queue_name;
pub use options::{HostSettings, Limits};
pub use outbox::{ChannelId, ConnectionId, ConsumerId, HostOutbox, Recipient, Room};
pub use pages::{LeaseRequest, PagePlace, PageRequest, ReadMessage};
pub use publishing::{Outcome, OwnedMessage, PublishRun, PublishedBy};
pub use route::{NamedRoute, Published, Route};
pub use turn::{GetOutcome, Got};
pub use unacked::Settlement;
pub use virtual_host::{MessageCounts, VirtualHost};
