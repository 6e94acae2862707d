//! `Change`: a name that was registered, moved or removed, for the log; and `DirectoryOutbox`. A renewal is not a
//! change.

use std::fmt;

use hairstreak_wire::directory::{Endpoint, Name};

use crate::outbox::Outbox;

/// Event of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The name appeared.
    Registered {
        /// The name.
        name: Name,
        /// Its endpoint.
        endpoint: Endpoint,
    },
    /// The name has a new endpoint or a new owner.
    Moved {
        /// The name.
        name: Name,
        /// Its new endpoint.
        endpoint: Endpoint,
    },
    /// The holder released the name.
    Unregistered {
        /// The name.
        name: Name,
    },
    /// The lease ended, or the name was an orphan and had to make room.
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

/// Effects of the directory: replies and changes.
pub trait DirectoryOutbox: Outbox {
    /// Reports that a name was registered, moved or removed. Only for the log.
    fn changed(&mut self, change: &Change);
}
