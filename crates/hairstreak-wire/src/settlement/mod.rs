//! Settlement: two Hairstreak peers do not lose messages when a connection or a process ends.
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
//! Both sides number the messages of a link from 1, without a byte on the wire. The sender keeps each message until
//! it is settled, and may send as many as the credit allows. Messages that are unsettled when the link ends are sent
//! again, possibly to another peer, with a higher count of deliveries.
//!
//! [`SendingLink`] and [`ReceivingLink`] are the two ends, sans-IO; [`command`] has the bytes. The caller counts the
//! messages of a link, and passes the count with each call. Above the links, [`Redelivery`] decides how a sender
//! handles returned messages. [`Seen`] decides which results a sink delivers, and when. [`Deadlines`] finds overdue
//! tasks, and a [`LetterNote`] gives the cause of a refusal.
//!
//! A receiver that passes messages on asks by X-INFORM to be told of completed tasks, on any path of their results. A
//! sink that is connected to the source reports them to it by X-DONE.
//!
//! A task may have several messages: they travel as one, a group ([`parse_group`]).
//!
//! With a peer without the property, the link is plain ZMTP.

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
