//! One call of a virtual host: the operations that have effects on consumers.
//!
//! ```text
//!   publish ---> enqueue ---> a consumer with credit, or ready messages
//!   ack, reject, cancel ... ---> touched queues ---> dispatch ---> consumers with credit
//!   expiry, reject, too long ---> letters ---> enqueue
//! ```
//!
//! An operation that finds its steps spent goes on in a later call (`chores`).
//!
//! Each operation ends with [`Turn::finish`]: touched queues are dispatched, then dead letters find their queues.
//!
//! Invariant between two turns: a queue with messages that have not expired has no consumer with credit, or is touched and dispatched in the next turn.

mod chores;
mod consume;
mod context;
mod deaths;
mod dispatch;
mod leave;
mod policies;
mod publish;
mod settle;

pub use consume::Got;
pub(super) use context::Turn;
#[cfg(test)]
pub(super) use policies::POLICY_SLICE_MAX;
pub(super) use policies::policy_slice;
