//! `Change`: a name that was registered, moved or removed, for the log; and `DirectoryOutbox`. A renewal is no change.

use std::fmt;

use hairstreak_wire::directory::{Endpoint, Name};

use crate::outbox::Outbox;

/// What happened to a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It appeared.
    Registered {
        /// The name.
        name: Name,
        /// Where it is.
        endpoint: Endpoint,
    },
    /// It is elsewhere now, or another owner's.
    Moved {
        /// The name.
        name: Name,
        /// Where it is now.
        endpoint: Endpoint,
    },
    /// Its holder gave it back.
    Unregistered {
        /// The name.
        name: Name,
    },
    /// Its lease ended, or its holder was gone and it had to make room.
    Expired {
        /// The name.
        name: Name,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Registered { name, endpoint } => write!(f, "registered {name} at {endpoint}"),
            Change::Moved { name, endpoint } => write!(f, "moved {name} to {endpoint}"),
            Change::Unregistered { name } => write!(f, "unregistered {name}"),
            Change::Expired { name } => write!(f, "expired {name}"),
        }
    }
}

/// The directory's effects: replies and changes.
pub trait DirectoryOutbox: Outbox {
    /// A name was registered, moved or removed. The call is for the log alone.
    fn changed(&mut self, change: &Change);
}
