//! An agent: it sends or receives on one host, and follows the orders of a controller.
//!
//! ```text
//!   controller --orders, a line each--> session --> sender, receiver, relay, publisher (data), queue (the broker here)
//!              <--answers, a line each--
//! ```
//!
//! An agent trusts every program that reaches its port: by default it listens on the loopback interface.

mod orders;
mod queue;
mod session;

pub use orders::{Greeting, Order};
pub use session::serve;
