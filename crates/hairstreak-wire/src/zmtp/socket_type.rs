//! The socket types of ZeroMQ and which of them may be connected to which (RFC 37, "The Socket-Type
//! Property"). libzmq's draft types (CLIENT, SERVER, RADIO, DISH, ...) are not known here.

use std::fmt;

/// Type of a socket, which defines the handling of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SocketType {
    /// One peer, both directions.
    Pair,
    /// Sends to all subscribers.
    Pub,
    /// Receives messages that match its subscriptions.
    Sub,
    /// Sends a request, then receives its reply.
    Req,
    /// Receives a request, then sends its reply.
    Rep,
    /// Sends round robin, receives from all.
    Dealer,
    /// Sends to the peer that the first frame names.
    Router,
    /// Receives from all.
    Pull,
    /// Sends round robin.
    Push,
    /// A PUB that receives its peers' subscriptions as messages.
    XPub,
    /// A SUB that sends its subscriptions as messages.
    XSub,
    /// Talks to plain tcp peers, and so to no peer with a socket type.
    Stream,
}

impl SocketType {
    /// All socket types that speak ZMTP: all but STREAM.
    pub const ALL: [SocketType; 11] = [
        SocketType::Pair,
        SocketType::Pub,
        SocketType::Sub,
        SocketType::Req,
        SocketType::Rep,
        SocketType::Dealer,
        SocketType::Router,
        SocketType::Pull,
        SocketType::Push,
        SocketType::XPub,
        SocketType::XSub,
    ];

    /// Returns the name as it stands in the `Socket-Type` property.
    pub fn as_str(self) -> &'static str {
        match self {
            SocketType::Pair => "PAIR",
            SocketType::Pub => "PUB",
            SocketType::Sub => "SUB",
            SocketType::Req => "REQ",
            SocketType::Rep => "REP",
            SocketType::Dealer => "DEALER",
            SocketType::Router => "ROUTER",
            SocketType::Pull => "PULL",
            SocketType::Push => "PUSH",
            SocketType::XPub => "XPUB",
            SocketType::XSub => "XSUB",
            SocketType::Stream => "STREAM",
        }
    }

    /// Returns the socket type of a name on the wire. `None` if ZMTP has no such type.
    pub fn from_bytes(name: &[u8]) -> Option<SocketType> {
        SocketType::ALL.into_iter().find(|socket_type| socket_type.as_str().as_bytes() == name)
    }

    /// Returns whether the two types can be connected; the order does not matter.
    pub fn compatible(self, other: SocketType) -> bool {
        use SocketType::*;
        match self {
            Pair => matches!(other, Pair),
            Pub | XPub => matches!(other, Sub | XSub),
            Sub | XSub => matches!(other, Pub | XPub),
            Req => matches!(other, Rep | Router),
            Rep => matches!(other, Req | Dealer),
            Dealer => matches!(other, Rep | Dealer | Router),
            Router => matches!(other, Req | Dealer | Router),
            Pull => matches!(other, Push),
            Push => matches!(other, Pull),
            Stream => false,
        }
    }

    /// Returns whether READY carries an `Identity`, possibly empty.
    pub fn sends_identity(self) -> bool {
        matches!(self, SocketType::Req | SocketType::Dealer | SocketType::Router)
    }
}

impl fmt::Display for SocketType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
