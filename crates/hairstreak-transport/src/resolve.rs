//! From hosts to addresses: `*`, literal addresses, interface names and host names.
//!
//! A host name asks the system's resolver, which may block for seconds; the engine calls it from a
//! thread of its own. Everything else answers at once.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use dns_lookup::{AddrInfoHints, LookupError, LookupErrorKind, SockType, getaddrinfo};
use thiserror::Error;

use crate::endpoint::TcpAddress;

/// Why a host gives no address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResolveError {
    /// The system's resolver failed.
    #[error("host \"{host}\" cannot be resolved: {reason}")]
    Lookup {
        /// As it was given.
        host: String,
        /// What the resolver said.
        reason: String,
        /// Whether the resolver itself is in trouble, and may know the host later.
        is_temporary: bool,
    },
    /// The resolver knows the name and has no address for it.
    #[error("host \"{0}\" has no address")]
    Empty(String),
    /// `*` or port 0 where one must connect to something.
    #[error("tcp://{0}: connecting needs a host and a port, not a wildcard")]
    Wildcard(String),
}

impl ResolveError {
    /// Whether asking again may help.
    pub fn is_temporary(&self) -> bool {
        matches!(self, ResolveError::Lookup { is_temporary: true, .. })
    }

    fn lookup(host: &str, error: LookupError) -> ResolveError {
        use LookupErrorKind::{Again, IO, Memory, System};
        let is_temporary = matches!(error.kind(), Again | Memory | System | IO);
        let text = std::io::Error::from(error).to_string();
        let reason = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text).to_owned();
        ResolveError::Lookup { host: host.to_owned(), reason, is_temporary }
    }
}

/// The address to bind for `address`: a wildcard, a literal, an interface's first address, or a name's.
pub fn resolve_bind(address: &TcpAddress) -> Result<SocketAddr, ResolveError> {
    if address.host == "*" {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port));
    }
    if let Some(ip) = literal(&address.host).or_else(|| interface_address(&address.host)) {
        return Ok(SocketAddr::new(ip, address.port));
    }
    look_up(address, 0)
}

/// The address to connect to for `address` in the `attempt`th attempt, from 0: a name's addresses take turns. With
/// `may_block` false, `None` means that the host is a name and only a blocking look-up can tell.
pub fn resolve_connect(
    address: &TcpAddress,
    attempt: u32,
    may_block: bool,
) -> Result<Option<SocketAddr>, ResolveError> {
    let ip = literal(&address.host);
    if address.host == "*" || address.port == 0 || ip.is_some_and(|ip| ip.is_unspecified()) {
        return Err(ResolveError::Wildcard(format!("{}:{}", address.host, address.port)));
    }
    match ip {
        Some(ip) => Ok(Some(SocketAddr::new(ip, address.port))),
        None if may_block => look_up(address, attempt).map(Some),
        None => Ok(None),
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    host.parse().ok()
}

/// The first address of the interface called `name`, IPv4 before IPv6.
fn interface_address(name: &str) -> Option<IpAddr> {
    let interfaces = if_addrs::get_if_addrs().ok()?;
    let mut found: Vec<IpAddr> = interfaces.iter().filter(|i| i.name == name).map(|i| i.ip()).collect();
    found.sort_by_key(IpAddr::is_ipv6);
    found.first().copied()
}

/// One of the name's addresses, IPv4 before IPv6.
fn look_up(address: &TcpAddress, attempt: u32) -> Result<SocketAddr, ResolveError> {
    let host = &address.host;
    let hints = AddrInfoHints { socktype: SockType::Stream.into(), ..AddrInfoHints::default() };
    let found =
        getaddrinfo(Some(host), None, Some(hints)).map_err(|error| ResolveError::lookup(host, error))?;
    // What is neither IPv4 nor IPv6 cannot be connected to.
    let ip = in_turn(found.flatten().map(|found| found.sockaddr.ip()).collect(), attempt);
    Ok(SocketAddr::new(ip.ok_or_else(|| ResolveError::Empty(host.clone()))?, address.port))
}

/// The address for the `attempt`th attempt, those of IPv4 first.
fn in_turn(mut found: Vec<IpAddr>, attempt: u32) -> Option<IpAddr> {
    found.sort_by_key(IpAddr::is_ipv6);
    let turn = (attempt as usize).checked_rem(found.len())?;
    found.get(turn).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> TcpAddress {
        TcpAddress { host: host.into(), port }
    }

    #[test]
    fn an_interface_name_gives_its_address() {
        assert_eq!(resolve_bind(&tcp("lo", 7)).unwrap(), "127.0.0.1:7".parse().unwrap());
    }

    #[test]
    fn wildcards_cannot_be_connected_to() {
        for (host, port) in [("*", 5), ("0.0.0.0", 5), ("::", 5), ("127.0.0.1", 0)] {
            assert!(resolve_connect(&tcp(host, port), 0, false).is_err(), "{host}:{port}");
        }
    }

    #[test]
    fn a_host_that_nobody_knows_is_no_passing_trouble() {
        // No resolver has to be asked about a name with spaces.
        let refused = resolve_connect(&tcp("no host at all", 5), 0, true).unwrap_err();
        assert!(!refused.is_temporary(), "{refused:?}");
        assert_eq!(
            refused.to_string(),
            "host \"no host at all\" cannot be resolved: Name or service not known"
        );
    }

    #[test]
    fn a_resolver_in_trouble_is_passing() {
        let error = LookupError::new(libc::EAI_AGAIN);
        let trouble = ResolveError::lookup("h", error);
        assert!(trouble.is_temporary());
        assert_eq!(
            trouble.to_string(),
            "host \"h\" cannot be resolved: Temporary failure in name resolution"
        );
    }

    #[test]
    fn a_name_s_addresses_take_turns() {
        let found = ["::1", "10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().unwrap()).to_vec();
        let turns: Vec<_> =
            (0..4).map(|attempt| in_turn(found.clone(), attempt).unwrap().to_string()).collect();
        assert_eq!(turns, ["10.0.0.1", "10.0.0.2", "::1", "10.0.0.1"]);
        assert_eq!(in_turn(Vec::new(), 0), None);
    }

    #[test]
    fn names_are_left_to_a_blocking_look_up() {
        assert!(resolve_connect(&tcp("localhost", 5), 0, false).unwrap().is_none());
        assert!(resolve_connect(&tcp("localhost", 5), 0, true).unwrap().unwrap().ip().is_loopback());
    }
}
