//! `Mail`: what wakes a connection.

use crate::access::LoginResult;
use crate::node::JournalError;

/// Mail that wakes a connection.
pub(crate) enum Mail {
    /// Something waits in the connection's outlet, or the alarm has changed.
    Outlet,
    /// The node ends the connection, for this reason.
    Close(Box<str>),
    /// The answer to a login.
    LoggedIn(LoginResult),
    /// Changes that the connection made cannot be written. The answers to them are held.
    Uncommitted(JournalError),
}
