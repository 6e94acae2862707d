//! The directory: its names, their holders and leases, and the LOOKUPs that wait for a name.
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
//! Only a *held* name is refused to others. An orphan (its holder's connection ended, its lease has not) is still
//! found: the holder may be alive, and only its connection to the directory broken. A crashed program that is restarted
//! gets the name at once.
//!
//! An orphan's lease is cut to [`Options::orphan_lease_max_ms`]. In a full directory the orphan with the earliest end
//! makes room. Abandoned names therefore cannot block the directory. The share of one address is limited for any number
//! of owners and connections.
//!
//! Invariants, tested in tests.rs on random events: every request is answered exactly once, unless its peer goes first;
//! every waiting LOOKUP is for a name that does not exist; no state outgrows [`Options`].
//!
//! A name is refused until [`Directory::handle_gone`] reports the end of its holder. The driver of the directory
//! therefore reports a peer's end after the last message of that peer, and before any later message of another peer.
//!
//! Other parts: bytes are in the wire crate, connections and the clock in the node. [`client`] is the other side.

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
