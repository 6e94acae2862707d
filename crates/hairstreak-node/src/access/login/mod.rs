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

mod figures;
mod logins;
mod peer;
mod queue;
mod thread;

pub use figures::{LoginCounts, LoginFigures};
pub(super) use logins::{Logins, invalid_credentials, shown};
pub use peer::LoginError;
pub use peer::LoginRules;
pub use peer::Peer;
pub use peer::Protocol;
pub use queue::{LoginAnswer, LoginResult};
pub(super) use queue::{LoginJob, Waiting};
pub(super) use thread::LoginThread;
