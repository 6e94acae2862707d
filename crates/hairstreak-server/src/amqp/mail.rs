//! `Mail`: what wakes a connection.

/// What wakes a connection.
pub(crate) enum Mail {
    /// Something waits in the connection's outlet, or the alarm has changed.
    Outlet,
}
