//! `LocalPeer` and `RemotePeer`: the two ends of a connection as READY describes them. The handshake is in another
//! module.

use super::metadata::{self, Properties};
use super::socket_type::SocketType;
use crate::Blame;
use crate::blame::escaped;

/// The largest routing id, in bytes.
pub const ROUTING_ID_SIZE_MAX: usize = 255;

const SOCKET_TYPE: &str = "Socket-Type";
const IDENTITY: &str = "Identity";

/// Our description for a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalPeer {
    /// The type of our socket.
    pub socket_type: SocketType,
    /// Up to 255 bytes. Sent as `Identity` by REQ, DEALER and ROUTER, empty or not.
    pub routing_id: Vec<u8>,
    /// Further properties; their names begin with `X-` unless an RFC gives them.
    pub properties: Properties,
}

impl LocalPeer {
    /// Returns our properties as metadata. Panics when the routing id is over [`ROUTING_ID_SIZE_MAX`] or a name is
    /// invalid.
    pub(super) fn encode_metadata(&self) -> Vec<u8> {
        assert!(
            self.routing_id.len() <= ROUTING_ID_SIZE_MAX,
            "routing id of {} bytes",
            self.routing_id.len()
        );
        let mut out = Vec::new();
        metadata::encode(&mut out, SOCKET_TYPE, self.socket_type.as_str().as_bytes());
        if self.socket_type.sends_identity() {
            metadata::encode(&mut out, IDENTITY, &self.routing_id);
        }
        for (name, value) in &self.properties {
            metadata::encode(&mut out, name, value);
        }
        out
    }
}

/// A peer's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePeer {
    /// The minor version of ZMTP 3 that both sides speak: 0 means no PING and no SUBSCRIBE command.
    pub minor: u8,
    /// Socket type of the peer, compatible with ours.
    pub socket_type: SocketType,
    /// The `Identity` of a REQ, DEALER or ROUTER, up to 255 bytes. Empty if it has none, and for other types, whose
    /// Identity has no meaning. The RFC reserves a leading zero byte; libzmq lets its users set one, so it is
    /// accepted here.
    pub routing_id: Vec<u8>,
    /// All properties of the peer, including `Socket-Type` and `Identity`.
    pub properties: Properties,
    /// User id that our verdict assigned to the peer's credentials.
    pub user_id: Option<String>,
}

/// A peer completed the handshake, but its description is invalid or incompatible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// There is no `Socket-Type`.
    #[error("peer names no Socket-Type")]
    NoSocketType,
    /// The `Socket-Type` is unknown.
    #[error("peer has the unknown socket type \"{theirs}\"")]
    UnknownSocketType {
        /// The peer's type, escaped.
        theirs: String,
    },
    /// The two socket types do not talk to each other.
    #[error("a {ours} cannot talk to a {theirs} peer")]
    IncompatibleSocketType {
        /// Our type.
        ours: SocketType,
        /// The peer's type.
        theirs: SocketType,
    },
    /// The `Identity` is longer than [`ROUTING_ID_SIZE_MAX`].
    #[error("peer's Identity of {size} bytes is over the limit of {ROUTING_ID_SIZE_MAX}")]
    RoutingIdTooLarge {
        /// Size of the id, in bytes.
        size: usize,
    },
}

impl PeerError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        match self {
            PeerError::UnknownSocketType { .. } | PeerError::IncompatibleSocketType { .. } => {
                Blame::PeerIncompatible
            }
            PeerError::NoSocketType | PeerError::RoutingIdTooLarge { .. } => Blame::PeerMisbehaved,
        }
    }
}

impl RemotePeer {
    /// Returns the peer with these properties, if a socket of type `ours` can talk to it.
    pub(super) fn new(ours: SocketType, minor: u8, properties: Properties) -> Result<RemotePeer, PeerError> {
        let name = metadata::find(&properties, SOCKET_TYPE).ok_or(PeerError::NoSocketType)?;
        let theirs = SocketType::from_bytes(name)
            .ok_or_else(|| PeerError::UnknownSocketType { theirs: escaped(name) })?;
        if !ours.compatible(theirs) {
            return Err(PeerError::IncompatibleSocketType { ours, theirs });
        }
        let identity = if theirs.sends_identity() { metadata::find(&properties, IDENTITY) } else { None };
        let routing_id = identity.unwrap_or_default().to_vec();
        if routing_id.len() > ROUTING_ID_SIZE_MAX {
            return Err(PeerError::RoutingIdTooLarge { size: routing_id.len() });
        }
        Ok(RemotePeer { minor, socket_type: theirs, routing_id, properties, user_id: None })
    }
}
