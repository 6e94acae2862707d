//! What a pattern is: a ZMTP socket type and which way messages go.
//!
//! To add a socket type: a marker in its pattern's folder that implements [`Pattern`] and the
//! directions it has; its routing rule in engine/routing (outgoing) and engine/receiving (incoming).

use hairstreak_wire::zmtp::SocketType;

/// A socket pattern's end.
pub trait Pattern: Send + Sync + 'static {
    /// The name it has on the wire.
    const SOCKET_TYPE: SocketType;
}

/// A pattern that sends.
pub trait Sends: Pattern {}

/// A pattern that receives.
pub trait Receives: Pattern {}

/// Whether a socket of this type receives messages.
pub(crate) fn receives(socket_type: SocketType) -> bool {
    matches!(socket_type, SocketType::Pull | SocketType::Dealer | SocketType::Router)
}

/// Whether a socket of this type sends messages.
pub(crate) fn sends(socket_type: SocketType) -> bool {
    matches!(socket_type, SocketType::Push | SocketType::Dealer | SocketType::Router)
}
