//! Changes of the definitions that outlive the node: durable exchanges and queues, and the bindings between them.
//!
//! An exchange is one of them if it is durable. A queue is one if it is durable and not exclusive. A binding is one if both
//! of its ends are, exchanges that each virtual host has included.

#[expect(clippy::module_inception, reason = "one change of the folder of changes")]
mod change;
mod changes;

pub use change::Change;
pub(crate) use changes::Changes;
