//! A virtual host: exchanges, queues, channels and consumers as one machine, events in and effects out.
//!
//! ```text
//!   server --- publish, consume, ack, handle_timeout ... (now, &mut outbox) ---> VirtualHost
//!                                                                                  |  outbox.deliver(recipient, tag, message)
//!   consumers' connections <-------------------------------------------------------+
//!              --------------------------------------------------------------------> |  Room: More, Full
//! ```
//!
//! - Every call with effects borrows a [`HostOutbox`]. The machine uses the outbox at once and keeps nothing of it.
//! - `now` is the time in milliseconds since 1970 and never runs backwards. The driver asks its clock once for each batch.
//! - A channel that asks for what it may not have gets a [`Refusal`](crate::Refusal) with the reply code, whose scope says
//!   what the server must close.
//!
//! Files:
//! - `options`, `outbox`, `route`: what the machine is given
//! - `channels`, `unacked`: who is there, and which messages each channel has to settle
//! - `timers`, `letters`, `names`: expiry, dead letters on their way, direct replies, names that are given
//! - `parts`, `declare`, `consumers`, `credit`: the parts of the machine, and what they do without effects on consumers
//! - `chores`, `publishing`: operations that take more than one call
//! - `turn`: one call of the machine, with the operations that have effects
//! - `views`, `channels_mut`, `changes_mut`, `policies_mut`: what operators see, what the server notes, what outlives the node, and policies
//! - `virtual_host`: the public face

mod changes_mut;
mod channels;
mod channels_mut;
mod chores;
mod consumers;
mod credit;
mod declare;
mod letters;
mod names;
mod options;
mod outbox;
mod parts;
mod policies_mut;
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
pub use changes_mut::ChangesMut;
pub use channels::ChannelMode;
pub use channels_mut::{ChannelsMut, PublishRun};
pub use declare::check_queue_name;
pub use options::{HostSettings, Limits};
pub use outbox::{ChannelId, ConnectionId, ConsumerId, HostOutbox, Recipient, Room};
pub use policies_mut::PoliciesMut;
pub use publishing::{Outcome, OwnedMessage, PublishedBy};
pub use route::{NamedRoute, Published, Route};
pub use turn::Got;
pub use unacked::Settlement;
pub use views::Views;
pub use virtual_host::{MessageCounts, VirtualHost};
