//! `Peer`: a client's connection, and its origin.

use std::net::IpAddr;
use std::sync::Arc;

/// A client's connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// The routing id that the ROUTER assigned.
    pub routing_id: Arc<[u8]>,
    /// The origin of the connection.
    pub origin: Origin,
}

/// Origin of connections. A client can have many owners and connections, but only few origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// This machine, by a transport other than tcp.
    Local,
    /// An address, or the network of 64 bits that an IPv6 address belongs to.
    Address(IpAddr),
}

impl From<Option<IpAddr>> for Origin {
    fn from(address: Option<IpAddr>) -> Origin {
        match address.map(|address| address.to_canonical()) {
            None => Origin::Local,
            Some(IpAddr::V6(address)) => {
                let network = u128::from(address) >> 64 << 64;
                Origin::Address(IpAddr::V6(network.into()))
            }
            Some(address) => Origin::Address(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(address: &str) -> Origin {
        Origin::from(Some(address.parse().unwrap()))
    }

    #[test]
    fn an_ipv6_network_is_one_origin_and_an_ipv4_address_is() {
        assert_eq!(origin("2001:db8:0:1::1"), origin("2001:db8:0:1:ffff::2"));
        assert_ne!(origin("2001:db8:0:1::1"), origin("2001:db8:0:2::1"));
        assert_ne!(origin("10.0.0.1"), origin("10.0.0.2"));
        assert_eq!(origin("10.0.0.1"), origin("::ffff:10.0.0.1"));
        assert_ne!(origin("127.0.0.1"), Origin::from(None));
    }
}
