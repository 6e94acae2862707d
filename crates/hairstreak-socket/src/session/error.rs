//! Why a connection ended.

use std::io;

use hairstreak_wire::settlement::SettlementError;
use hairstreak_wire::zmtp::curve::MessageError;
use hairstreak_wire::zmtp::{CommandError, FrameError, HandshakeError};
use thiserror::Error;

use crate::pubsub::index::SubscriptionError;

/// Why a connection ended.
#[derive(Debug, Error)]
pub(crate) enum SessionError {
    #[error("the peer closed the connection")]
    Closed,
    #[error("the peer refused to go on: \"{0}\"")]
    PeerError(String),
    #[error("this side closed the connection")]
    Left,
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the handshake failed: {0}")]
    Handshake(#[from] HandshakeError),
    #[error("the peer sent a bad frame: {0}")]
    Frame(#[from] FrameError),
    #[error("the peer sent a bad command: {0}")]
    Command(#[from] CommandError),
    #[error("the peer broke the rules of settlement: {0}")]
    Settlement(#[from] SettlementError),
    #[error("the peer sent a bad sealed frame: {0}")]
    Sealed(#[from] MessageError),
    #[error("the peer sent a message of more than {0} bytes (message_size_max)")]
    TooLarge(usize),
    #[error("the peer sent a message of more than {0} frames (frame_count_max)")]
    TooManyFrames(usize),
    #[error("the peer sent a message to a socket that receives none")]
    Unexpected,
    #[error("another peer of the same routing id took its place (router_handover)")]
    HandedOver,
    #[error("the socket does not want this peer")]
    Unwanted,
    #[error("the peer sent a subscription between the frames of a message")]
    InsideMessage,
    #[error("the peer has {0}")]
    Subscription(#[from] SubscriptionError),
    #[error("the peer does not take subscriptions")]
    Stuck,
    #[error("the peer kept others waiting and did not end its message in time (arriving_timeout_ms)")]
    Slow,
    #[error("the peer does not keep to the agreement about shared memory")]
    Sharing,
    #[error("this endpoint (shm://) needs a peer that goes on in shared memory")]
    NotShared,
    #[error("no handshake in time")]
    HandshakeTimeout,
    #[error("the peer answered no PING in time")]
    Silent,
    #[error("what remained to be sent was not taken in time")]
    Linger,
}

impl SessionError {
    /// The peer's ERROR, in its own words.
    pub fn peer_error(reason: &[u8]) -> SessionError {
        SessionError::PeerError(reason.escape_ascii().to_string())
    }

    /// Whether it is this side that ended the connection, and not for what it read: more may have come that is good.
    pub fn leaves_unread(&self) -> bool {
        matches!(
            self,
            SessionError::Left
                | SessionError::HandedOver
                | SessionError::Stuck
                | SessionError::Slow
                | SessionError::Silent
        )
    }

    /// Whether a side ended the connection as it may.
    pub fn is_farewell(&self) -> bool {
        matches!(
            self,
            SessionError::Closed | SessionError::PeerError(_) | SessionError::Left | SessionError::Unwanted
        )
    }
}
