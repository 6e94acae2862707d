//! `Peer`: the place that a login comes from.
//!
//! - `Protocol`: the protocol of the client.
//! - `LoginError`: the reason of a refused login.
//! - `LoginRules`: users that may log in from this host only, and the anonymous user.

use std::net::{IpAddr, Ipv6Addr};

use thiserror::Error;

/// The place that a login comes from, this host or an address, and the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    address: Option<IpAddr>,
    /// `None`: counted for no protocol.
    protocol: Option<Protocol>,
}

/// The peers that share a turn at the hashing thread: an IPv4 address, a /64 of IPv6, or this host. One host of IPv6 has all
/// addresses of its /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::access) struct Network(Option<IpAddr>);

impl Peer {
    /// A peer on this host that has no address: ipc, shared memory, inproc.
    pub fn local() -> Peer {
        Peer { address: None, protocol: None }
    }

    /// The peer at an address.
    pub fn at(address: IpAddr) -> Peer {
        Peer { address: Some(address.to_canonical()), protocol: None }
    }

    /// Returns the peer with its logins counted for a protocol.
    pub fn by(self, protocol: Protocol) -> Peer {
        Peer { protocol: Some(protocol), ..self }
    }

    pub(super) fn protocol(self) -> Option<Protocol> {
        self.protocol
    }

    /// Returns true if the peer is on this host and comes by the loopback interface.
    pub fn is_loopback(self) -> bool {
        self.address.is_none_or(|address| address.is_loopback())
    }

    pub(in crate::access) fn network(self) -> Network {
        Network(match self.address {
            Some(IpAddr::V6(address)) if !address.is_loopback() => {
                let prefix = address.to_bits() >> 64 << 64;
                Some(IpAddr::V6(Ipv6Addr::from_bits(prefix)))
            }
            Some(address) if !address.is_loopback() => Some(address),
            _ => None,
        })
    }
}

/// The protocol of a client that logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// AMQP 0-9-1.
    Amqp,
    /// The management HTTP API, and metrics.
    Http,
    /// ZMTP: services and the directory.
    Zmtp,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Protocol; 3] = [Protocol::Amqp, Protocol::Http, Protocol::Zmtp];

    /// The name of the protocol in metrics, RabbitMQ's where it has one.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Amqp => "amqp091",
            Protocol::Http => "http",
            Protocol::Zmtp => "zmtp",
        }
    }
}

/// Rules about logins that hold for all credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRules {
    /// The users that may log in from this host only: RabbitMQ's `loopback_users`.
    pub loopback_users: Vec<String>,
    /// The user that a client without credentials becomes (ANONYMOUS), if that is allowed.
    pub anonymous_user: Option<String>,
}

impl Default for LoginRules {
    /// `guest` logs in from this host only, and clients need credentials.
    fn default() -> LoginRules {
        LoginRules { loopback_users: vec!["guest".into()], anonymous_user: None }
    }
}

impl LoginRules {
    /// Errors: the user may not come from there.
    pub(in crate::access) fn check(&self, user: &str, peer: Peer) -> Result<(), LoginError> {
        if !peer.is_loopback() && self.loopback_users.iter().any(|name| name == user) {
            return Err(LoginError::LoopbackOnly { user: user.to_owned() });
        }
        Ok(())
    }
}

/// A refused login. The texts are from RabbitMQ's log. A client learns only that the login was refused. AMQP says ACCESS_REFUSED
/// for all errors. HTTP says `Not_Authorized`, and for [`LoginError::LoopbackOnly`] `User can only log in via localhost`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoginError {
    /// No such user, no password, or another password.
    #[error("user '{user}' - invalid credentials")]
    InvalidCredentials {
        /// The name that was given.
        user: String,
    },
    /// An empty password, which is refused for every user.
    #[error("user '{user}' attempted to log in with a blank password")]
    BlankPassword {
        /// The name that was given.
        user: String,
    },
    /// The credentials are right; the user may log in from this host only.
    #[error("user '{user}' can only connect via localhost")]
    LoopbackOnly {
        /// The name of the user.
        user: String,
    },
    /// Logins without a name are refused.
    #[error("anonymous logins are not allowed")]
    NotAnonymous,
    /// No user has the CURVE key.
    #[error("no user has that CURVE key")]
    UnknownKey,
    /// Too many logins wait, or the node stops. The credentials were not checked.
    #[error("too many logins are waiting; try again later")]
    TryLater,
}
