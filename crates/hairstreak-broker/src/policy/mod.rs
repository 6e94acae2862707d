//! Policies: settings that operators give to many queues and exchanges by the pattern of their names.
//!
//! ```text
//!   arguments of a queue -----------------------------------+
//!   user policy with the highest priority ----+             +--> queue::Settings
//!   operator policy with the highest priority +--> merged --+
//! ```
//!
//! - `keys`: which settings there are, and their values
//! - `apply_to`, `policy`: the kinds of objects, and one policy
//! - `policies`: all policies of a virtual host, and the policies of one object
//!
//! Semantics and texts follow RabbitMQ 3.10, and later versions where these have more settings.

mod apply_to;
mod keys;
mod policies;
#[expect(clippy::module_inception, reason = "one policy of the folder of policies")]
mod policy;
#[cfg(test)]
mod tests;

pub use apply_to::ApplyTo;
pub(crate) use apply_to::ObjectKind;
pub use apply_to::PolicyError;
pub use keys::Scope;
#[cfg(test)]
pub(crate) use policies::NAME_STEPS_MAX;
pub(crate) use policies::Object;
pub use policies::PolicyChange;
pub(crate) use policies::{Applied, Policies};
pub use policies::{PolicyCursor, PolicySlice};
pub use policy::Policy;
