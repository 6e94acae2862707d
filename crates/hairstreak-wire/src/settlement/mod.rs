//! Settlement: how two Hairstreak peers keep messages from being lost with a connection or a process.
//! docs/settlement.md has every byte.
//!
//! ```text
//!   sender (PUSH)                                    receiver (PULL)
//!     READY, X-Hairstreak-Settlement  <------->  READY, X-Hairstreak-Settlement: first credit
//!     X-TASKS id, deliveries           ------->
//!     message 1, 2, 3, ...             ------->
//!                                      <-------  X-SETTLE through 2; 3 rejected
//!                                      <-------  X-CREDIT up to 1003
//!                                      <-------  X-INFORM
//!     X-DONE id, count                 ------->
//!                                      <-------  X-DRAIN
//!     X-END after 3                    ------->
//! ```
//!
//! Messages of a link are numbered by both sides, from 1, without a byte on the wire. The sender keeps each until it is
//! settled, and may have sent as many as the credit says. What is unsettled when the link ends is sent again, to another
//! peer if need be, with a higher count of deliveries.
//!
//! [`SendingLink`] and [`ReceivingLink`] are the two ends, sans-IO; [`command`] are the bytes. How many messages have
//! gone through a link is counted by whoever moves them, and told with each call. Above the links, [`Redelivery`] decides
//! what a sender does with what comes back, and [`Seen`] which results a sink delivers, and when. [`Deadlines`]
//! says which tasks have had their time, a [`LetterNote`] why one was refused.
//!
//! A receiver that passes on what it is sent asks by X-INFORM to be told which tasks are done, whichever way their results
//! went; a sink that is connected to the source reports them to it by X-DONE.
//!
//! A task may be several messages: they travel as one, a group ([`parse_group`]).
//!
//! Against a peer without the property nothing of this happens: plain ZMTP.

pub mod command;
mod control;
mod deadlines;
mod error;
mod group;
mod letter;
mod ranges;
mod receiving;
mod redelivery;
mod refusals;
mod runs;
mod seen;
mod sending;
mod task;
mod terms;

pub use command::{Entry, SettlementCommand};
pub use control::{ControlMessage, SequenceRuns};
pub use deadlines::{Deadlines, Overdue};
pub use error::SettlementError;
pub use group::{encode_group, parse_group};
pub use letter::{LETTER_NOTE_SIZE_MAX, LetterNote};
pub use ranges::Ranges;
pub use receiving::ReceivingLink;
pub use redelivery::{LinkChoice, Redelivery, RedeliveryRules, RefusedTasks, Returned};
pub use refusals::{Refusal, RefusalCause};
pub use seen::{Ready, Seen};
pub use sending::{Refused, SendingLink, Settled};
pub use task::{Content, Outcome, TaskId, TaskRun};
pub use terms::SettlementTerms;
