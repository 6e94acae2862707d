//! The directory: which name is held by whom, until when, and who waits for it to appear.
//!
//! ```text
//!               REGISTER                      REGISTER by its owner: renewed
//! (no entry) ---------------> held ----------------------------------------> held
//!     ^                        |  \ peer gone
//!     |  UNREGISTER by owner   |   `-----------> orphaned --- REGISTER by its owner ---> held
//!     +------------------------+                    |  `----- REGISTER by another -----> held by it
//!     |           lease ends                        |
//!     +---------------------------------------------+
//! ```
//!
//! Only a *held* name is refused to others. An orphan (its holder's connection ended, its lease has
//! not) is still found, because the holder may be well and only its way to the directory broken; but
//! whoever restarts a crashed program gets the name at once.
//!
//! An orphan's lease is cut to [`Options::orphan_lease_max_ms`], and the orphan that would go first makes
//! room where there is none. So nobody shuts the directory by names that it leaves behind, and what one
//! address may hold by any number of owners and connections is a share of the whole.
//!
//! Invariants, tested in tests.rs on random events: every request is answered exactly once, unless
//! its peer goes first; whoever waits, waits for a name that does not exist; nothing outgrows
//! [`Options`].
//!
//! A name is refused as long as [`Directory::handle_gone`] has not told of its holder. So whoever drives the directory tells of
//! a peer's end before any message that comes later, and behind the peer's own last message.
//!
//! Not here: bytes (the wire crate), connections and the clock (the node). [`client`] is the other side.

mod change;
pub mod client;
mod deadlines;
mod entries;
mod machine;
mod options;
mod peer;
mod permissions;
#[cfg(test)]
mod tests;
mod waiters;

pub use change::{Change, DirectoryOutbox};
pub use machine::Directory;
pub use options::Options;
pub use peer::{Origin, Peer};
