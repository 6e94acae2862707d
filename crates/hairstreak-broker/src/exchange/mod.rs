//! Exchanges and bindings of a virtual host: which queues get a message. Pure: queues are numbers here, and messages are
//! a routing key and headers.
//!
//! ```text
//!  message --> exchange --(bindings)--+--> queues
//!                 |                   +--> exchanges, each once, however the bindings run in circles
//!                 +--(no binding matches)--> alternate exchange
//! ```
//!
//! Semantics, reply codes and texts follow RabbitMQ 3.10.
//!
//! - `exchanges`: the requests of clients, and routing: [`Exchanges`]
//! - `topology`: adding, removing, recording and listing exchanges, queues and bindings: [`Topology`]
//! - `routing`: the parts of a message that decide its route
//! - `kind`: the types of exchanges by name; `exchange_type`: a type as a trait. Each type is a file: `direct` (with fanout and the default
//!   exchange), `topic`, `headers`, `consistent_hash`, `load_balancing`
//! - `exchange`, `table`: one exchange, and all by name
//! - `binding`, `bindings`: one binding, and all by their two ends
//! - `destination`: the destinations of bindings
//! - `walk`: a message's way through the exchanges; `stamps`: exchanges and queues on the way; `cache`: ways that were taken before
//! - `refusals`: the texts
//!
//! Invariants, tested in tests/ on random topologies against a naive model. A message reaches the queues of the model, each once.
//! Removed bindings and exchanges leave nothing behind.
//!
//! Not here: permissions, and whether queues exist.

mod binding;
mod bindings;
mod cache;
mod consistent_hash;
mod destination;
mod direct;
#[expect(clippy::module_inception, reason = "one exchange of the folder of exchanges")]
mod exchange;
mod exchange_type;
mod exchanges;
mod headers;
mod kind;
mod load_balancing;
mod refusals;
mod routing;
mod stamps;
mod table;
#[cfg(test)]
mod tests;
mod topic;
mod topology;
mod walk;

pub(crate) use destination::{Destination, ExchangeId};
pub use exchange::ExchangeDeclaration;
pub(crate) use exchanges::Publisher;
pub use exchanges::{Exchanges, check_declaration, check_not_default};
pub(crate) use routing::distinct;
pub use routing::{Cacheable, Routing};
pub use topology::Topology;
pub(crate) use walk::Walk;
