//! `Peer`: the place that a login comes from.

use std::net::{IpAddr, Ipv6Addr};

use super::protocol::Protocol;

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

    /// The same peer, whose logins are counted for a protocol.
    pub fn by(self, protocol: Protocol) -> Peer {
        Peer { protocol: Some(protocol), ..self }
    }

    pub(super) fn protocol(self) -> Option<Protocol> {
        self.protocol
    }

    /// Whether the peer is on this host and comes by the loopback interface.
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
