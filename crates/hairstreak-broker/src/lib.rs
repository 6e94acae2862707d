//! What a Hairstreak node decides, as state machines: events in, effects out.
//!
//! Nothing here names a socket, a runtime or a clock. Time is an argument: how long ago whoever
//! drives the machine chose to start counting. So a test runs a day of leases in a millisecond, and
//! the same events always have the same effects.
//!
//! All machines are driven alike. `handle_...` tells of an event and lends an [`Outbox`] for the effects;
//! `next_timeout` says when `handle_timeout` is due. A virtual host has a larger face and an outbox of its own:
//! [`vhost`].

pub mod change;
pub mod directory;
mod equivalence;
mod erlang;
pub mod exchange;
mod gate;
mod index;
pub mod message;
mod name;
mod outbox;
pub mod pattern;
pub mod policy;
pub mod queue;
mod refusal;
pub mod service;
mod slices;
pub mod stats;
mod steps;
pub mod vhost;
pub mod view;

pub use erlang::{print_binary, print_numbers};
pub use gate::{Gate, OpenGate, Operation};
pub use name::without_line_breaks;
pub use outbox::{Outbox, Sent};
pub use refusal::Refusal;
