//! `Session`: one connection of a byte-stream transport (tcp, ipc, shm), from connecting to its end.
//! The one driver for all stream transports; who calls it when is the engine's business.
//!
//! ```text
//!   Connecting --writable--> Handshaking --READY both ways--> Ready --close--> Draining --> gone
//!        \________________________\_______ error, timeout ______\__________________/
//! ```
//!
//! The bytes are the `Connection`'s of the transport crate. Nothing here waits, locks or knows other connections.

mod arriving;
mod awaiting;

mod ending;
mod error;
mod handshaking;
mod incoming;
mod liveness;
mod outgoing;
mod plain;
mod retaining;
mod sealing;
mod settling;
mod sharing;
mod zmtp;

pub(crate) use arriving::ArrivingBudget;
pub(crate) use error::SessionError;
pub(crate) use handshaking::Advance;
pub(crate) use outgoing::SHARE_SIZE;
pub(crate) use settling::SettledNews;
pub(crate) use sharing::SharedWish;
pub(crate) use zmtp::{Phase, Session, SessionLimits, SessionShares};
