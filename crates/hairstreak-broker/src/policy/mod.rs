//! Policies: settings that operators give to many queues and exchanges by the pattern of their names.
//!
//! ```text
//!   arguments of a queue -----------------------------------+
//!   user policy with the highest priority ----+             +--> queue::Settings
//!   operator policy with the highest priority +--> merged --+
//! ```
//!
//! - `keys`: which settings there are, and their values
//! - `apply_to`, `scope`, `policy`: which objects, who gives a policy, and one policy
//! - `merge`: a user policy and an operator policy together
//! - `policies`: all policies of a virtual host, and those of one object
//! - `slice`: some objects on their way to other policies
//! - `error`: what is wrong with a policy, in RabbitMQ's words
//!
//! The semantics and texts are those of RabbitMQ 3.10, and of later versions where these have more settings.

mod apply_to;
mod error;
mod keys;
mod merge;
mod policies;
#[expect(clippy::module_inception, reason = "one policy of the folder of policies")]
mod policy;
mod scope;
mod slice;
#[cfg(test)]
mod tests;

pub use apply_to::ApplyTo;
pub(crate) use apply_to::ObjectKind;
pub use error::PolicyError;
#[cfg(test)]
pub(crate) use policies::NAME_STEPS_MAX;
pub use policies::PolicyChange;
pub(crate) use policies::{Applied, Policies};
pub use policy::Policy;
pub use scope::Scope;
pub(crate) use slice::Object;
pub use slice::{PolicyCursor, PolicySlice};
