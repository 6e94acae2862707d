//! Whose fault an error is. Not an error itself: every error enum of this crate answers `blame()`.

/// Whose fault it is that a peer's bytes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The peer is well-behaved but cannot be talked to: another version, mechanism, socket type
    /// or protocol, or it refused us. An operator has to change a configuration.
    PeerIncompatible,
    /// The peer broke the protocol it claims to speak, or a limit of ours.
    PeerMisbehaved,
}
