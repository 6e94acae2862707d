//! One call of a virtual host: the operations that have effects on consumers.
//!
//! ```text
//!   publish ---> enqueue ---> a consumer with credit, or ready messages
//!   ack, reject, cancel ... ---> touched queues ---> dispatch ---> consumers with credit
//!   expiry, reject, too long ---> letters ---> enqueue
//! ```
//!
//! An operation that runs out of steps continues in a later call (`progress`).
//!
//! `VirtualHost` ends each call with `progress::finish`: touched queues are dispatched, then dead letters find their queues.
//!
//! Files, each of which uses the files before it:
//! - `deaths`, `dispatch`, `paging`, `publish`, `letters`: the way of a message into a queue, to a consumer, and to the queues of dead letters
//! - `settle`: acknowledgements and rejections
//! - `leave`, `consume`: channels, queues and consumers go; consumers come
//! - `policies`: other policies apply to objects
//! - `progress`: the end of each call, expiry, and operations that go on
//!
//! Invariant between two calls: a queue with messages that have not expired has no consumer with credit, or its first message is
//! being read from the disk, or the queue is touched and dispatched in the next call.

pub(super) mod consume;
mod deaths;
mod dispatch;
pub(super) mod leases;
pub(super) mod leave;
mod letters;
pub(super) mod paging;
pub(super) mod policies;
pub(super) mod progress;
pub(super) mod publish;
pub(super) mod settle;

pub use consume::{GetOutcome, Got};
