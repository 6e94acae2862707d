//! An AMQP 0-9-1 virtual host as a state machine: exchanges, queues, bindings, policies, consumers.
//!
//! Nothing here uses a socket, a runtime or a clock. Time is an argument, in milliseconds from a start that the caller chooses.
//! So a test runs a day of expiry in a millisecond, and the same events always have the same effects.
//!
//! Reading order: [`vhost`], [`exchange`], [`queue`], [`message`], [`policy`].

pub mod change;
mod erlang;
pub mod exchange;
pub mod message;
mod name;
pub mod pattern;
pub mod policy;
pub mod queue;
mod refusal;
pub mod stats;
mod steps;
pub mod vhost;
pub mod view;

pub use erlang::{print_binary, print_numbers};
pub use name::without_line_breaks;
pub use refusal::Refusal;
