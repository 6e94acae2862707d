//! `DirectoryOutbox`: what the directory is lent beside the way to its peers.

use super::Change;
use crate::outbox::Outbox;

/// Takes the directory's effects: replies, and what became of names.
pub trait DirectoryOutbox: Outbox {
    /// A name came, moved or went. Nothing has to be done; an operator may like to know.
    fn changed(&mut self, change: &Change);
}
