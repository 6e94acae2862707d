//! `Post`: the way from the node to its connections, whatever they speak.

use hairstreak_transport::event_loop::Address;

use super::journal::JournalError;
use crate::access::LoginResult;

/// Takes word to connections. None of the calls blocks.
pub(crate) trait Post: Send + Sync {
    /// Something waits in the connection's outlet, or the alarm has changed.
    fn wake(&self, to: Address);

    /// The node ends the connection, for this reason.
    fn close(&self, to: Address, reason: &str);

    /// The answer to a login that the connection has asked for.
    fn logged_in(&self, to: Address, result: LoginResult);

    /// The changes that the connection made in the turn with this number are on disk, or cannot be written. Its answers are held until then.
    fn committed(&self, to: Address, ticket: u64, result: Result<(), JournalError>);
}

/// A node without connections.
pub(crate) struct NoPost;

impl Post for NoPost {
    fn wake(&self, _to: Address) {}
    fn close(&self, _to: Address, _reason: &str) {}
    fn logged_in(&self, _to: Address, _result: LoginResult) {}
    fn committed(&self, _to: Address, _ticket: u64, _result: Result<(), JournalError>) {}
}
