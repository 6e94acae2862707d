//! Logins: with a password, which the thread `logins` checks unless it was right before, and without one.
//!
//! ```text
//!   log_in --right before--> answer at once                                     no hash, on the caller's thread
//!      |
//!      +---> LoginQueue, a turn for each network --> thread `logins` --> answer  the hash of one login after the other
//! ```
//!
//! Failed logins are not remembered. A stranger could fill such a memory with inventions, and a password that was wrong may be right
//! a moment later. The same wrong password that many connections try at a time is hashed once, because they wait together.
//!
//! Reading order: [`Peer`], [`LoginError`], `queue`, `thread`, `logins`.

mod error;
mod figures;
mod job;
mod logins;
mod peer;
mod protocol;
mod queue;
mod rules;
mod thread;

pub use error::LoginError;
pub use figures::{LoginCounts, LoginFigures};
pub use job::{LoginAnswer, LoginResult};
pub(super) use job::{LoginJob, Waiting};
pub(super) use logins::{Logins, invalid_credentials, shown};
pub use peer::Peer;
pub use protocol::Protocol;
pub use rules::LoginRules;
pub(super) use thread::LoginThread;
