//! Settlement of what a PUSH sends: nothing is lost with a connection or a receiver's process.
//!
//! With [`Options::settlement`](crate::Options::settlement) set on both ends, a [`Push`](crate::Push) keeps every message
//! until its receiver has settled it, and sends what is unsettled again, to another receiver if there is one, when a
//! connection ends. What was sent before comes with a count of its deliveries. Against a peer that does not settle (libzmq,
//! or a socket without the option) it is plain ZeroMQ. docs/settlement.md has the rules and the bytes.
//!
//! A [`Pull`](crate::Pull) settles a message when the next one is asked for, or when it is told what became of it
//! ([`Settling::ByHand`]).
//!
//! - at least once: a message that was being worked on when its receiver died is given to another;
//! - bounded: at most [`Settlement::unsettled_count_max`] messages are unsettled, and so sent twice at most; what is passed on is
//!   bounded where it came from;
//! - to those who work: a receiver that settles slowly is given little.

mod backlog;
mod delivery;
mod group;
mod options;
mod pull;
mod push;
mod receivers;
mod senders;
mod window;

pub(crate) use backlog::{Backlog, Ending, GrantedLink, SocketName};
pub(crate) use delivery::DeliveryMark;
pub use delivery::{Batch, Delivery, Refusal};
pub(crate) use group::check_content;
pub use group::{join_group, split_group};
pub use hairstreak_wire::settlement::{
    Content, ControlMessage, LETTER_NOTE_SIZE_MAX, LetterNote, Ranges, RefusalCause, RefusedTasks,
    SequenceRuns, TaskId, TaskRun,
};
pub use options::{Settlement, Settling};
pub use push::Unsettled;
pub(crate) use senders::{Owed, Senders};
