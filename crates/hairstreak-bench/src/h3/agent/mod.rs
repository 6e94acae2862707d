//! An agent: it sends or receives on one host, and does what a controller says.
//!
//! ```text
//!   controller --orders, a line each--> session --> sender, receiver, relay, publisher (data), queue (the broker here)
//!              <--replies, a line each--
//! ```
//!
//! An agent trusts whoever reaches its port: it listens on the loopback interface unless it is told otherwise.

mod entry;
mod error;
mod orders;
mod queue;
mod session;

pub use entry::serve;
pub use error::AgentError;
pub use orders::{Arrivals, Flow, Order, Reply};
