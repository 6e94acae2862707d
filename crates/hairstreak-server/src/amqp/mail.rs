//! `Mail`: what wakes a connection.

/// Mail that wakes a connection.
pub(crate) enum Mail {
    /// Something waits in the connection's outlet, or the alarm has changed.
    Outlet,
    /// The node ends the connection, for this reason.
    Close(Box<str>),
}
