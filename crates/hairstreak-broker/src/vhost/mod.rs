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
//! - `connections`, `channel`, `channels`, `unacked`: who is there, and which messages each channel has to settle
//! - `parts`, `turn`: the parts of the machine, and one call of the machine; the `turn_...` files hold its operations
//! - `virtual_host`: the public face

mod options;
mod outbox;
mod route;
mod virtual_host;

pub use options::Limits;
pub use outbox::{ChannelId, ConnectionId, ConsumerId, HostOutbox, Recipient, Room};
pub use route::{Published, Route};
pub use virtual_host::{Got, MessageCounts, VirtualHost};
