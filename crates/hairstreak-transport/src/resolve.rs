//! From hosts to addresses: `*`, literal addresses, interface names and host names.
//!
//! A link-local address of IPv6 belongs to one interface, which its zone names: `fe80::1%eth0`, or `fe80::1%2` by the index of the
//! interface (RFC 4007, section 11). The zone stays with the address from the text to the kernel and back.
//!
//! A host name asks the system's resolver, which may block for seconds; the engine calls it from a
//! thread of its own. Everything else answers at once.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::OwnedFd;

use dns_lookup::{AddrInfoHints, LookupError, LookupErrorKind, SockType, getaddrinfo};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, netdevice};
use thiserror::Error;

use crate::endpoint::TcpAddress;

/// The reason for which a host gives no address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResolveError {
    /// The system's resolver failed.
    #[error("host \"{host}\" cannot be resolved: {reason}")]
    Lookup {
        /// The endpoint as given.
        host: String,
        /// The resolver's message.
        reason: String,
        /// The resolver itself has failed, and may know the host later.
        is_temporary: bool,
    },
    /// The resolver knows the name and has no address for it.
    #[error("host \"{0}\" has no address")]
    Empty(String),
    /// There is no interface of the zone's name or index.
    #[error("host \"{host}\": this machine has no network interface \"{zone}\"")]
    Zone {
        /// The endpoint as given.
        host: String,
        /// The part behind `%`.
        zone: String,
    },
    /// A link-local address, which each interface has, without a zone.
    #[error("host \"{0}\" is a link-local address: name its interface too, as in [{0}%eth0]")]
    NoZone(Ipv6Addr),
    /// `*` or port 0 where one must connect to something.
    #[error("tcp://{0}: connecting needs a host and a port, not a wildcard")]
    Wildcard(String),
    /// `*` where one must connect to a path.
    #[error("{0}: connecting needs a path, not a wildcard")]
    AnyPath(String),
}

impl ResolveError {
    /// Returns `true` if another try may succeed.
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
    if let Some(found) = literal(address)? {
        return Ok(found);
    }
    if let Some(found) = interface_address(&address.host) {
        return Ok(with_port(found, address.port));
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
    let found = literal(address)?;
    if address.host == "*" || address.port == 0 || found.is_some_and(|found| found.ip().is_unspecified()) {
        return Err(ResolveError::Wildcard(format!("{}:{}", address.host, address.port)));
    }
    match found {
        Some(found) => Ok(Some(found)),
        None if may_block => look_up(address, attempt).map(Some),
        None => Ok(None),
    }
}

/// Each address of a host, in the order in which a client tries them: a literal's, or a name's, for which the look-up may block.
pub fn resolve_each(address: &TcpAddress) -> Result<Vec<SocketAddr>, ResolveError> {
    match literal(address)? {
        Some(found) => Ok(vec![found]),
        None => look_up_each(address),
    }
}

/// The address of a socket as an endpoint has it, with the name of its zone.
impl From<SocketAddr> for TcpAddress {
    fn from(address: SocketAddr) -> TcpAddress {
        let host = match address {
            SocketAddr::V6(v6) if v6.scope_id() != 0 => {
                let zone = interface_name(v6.scope_id()).unwrap_or_else(|| v6.scope_id().to_string());
                format!("{}%{zone}", v6.ip())
            }
            address => address.ip().to_string(),
        };
        TcpAddress { host, port: address.port() }
    }
}

/// The address of a host that is one. `None`: the host is a name.
fn literal(address: &TcpAddress) -> Result<Option<SocketAddr>, ResolveError> {
    let host = &address.host;
    let (ip, zone) = match host.split_once('%') {
        Some((ip, zone)) => (ip, Some(zone)),
        None => (&**host, None),
    };
    match (ip.parse(), zone) {
        (Ok(IpAddr::V6(ip)), Some(zone)) => {
            let unknown = || ResolveError::Zone { host: host.clone(), zone: zone.to_owned() };
            let index = interface_index(zone).ok_or_else(unknown)?;
            Ok(Some(SocketAddrV6::new(ip, address.port, 0, index).into()))
        }
        // The kernel refuses it, and would do so at each attempt.
        (Ok(IpAddr::V6(ip)), None) if ip.is_unicast_link_local() => Err(ResolveError::NoZone(ip)),
        (Ok(ip), None) => Ok(Some(SocketAddr::new(ip, address.port))),
        _ => Ok(None),
    }
}

/// The index of the interface that a zone names, or has as its number.
fn interface_index(zone: &str) -> Option<u32> {
    if zone.contains('\0') {
        return None;
    }
    let named = netdevice::name_to_index(any_socket()?, zone).ok();
    named.or_else(|| zone.parse().ok().filter(|index| interface_name(*index).is_some()))
}

fn interface_name(index: u32) -> Option<String> {
    netdevice::index_to_name(any_socket()?, index).ok()
}

/// A socket by which the kernel is asked about interfaces.
fn any_socket() -> Option<OwnedFd> {
    net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).ok()
}

/// The first address of the interface called `name`, IPv4 before IPv6.
fn interface_address(name: &str) -> Option<SocketAddr> {
    let interfaces = if_addrs::get_if_addrs().ok()?;
    let mut found: Vec<IpAddr> = interfaces.iter().filter(|i| i.name == name).map(|i| i.ip()).collect();
    found.sort_by_key(IpAddr::is_ipv6);
    Some(match *found.first()? {
        IpAddr::V6(ip) if ip.is_unicast_link_local() => {
            SocketAddrV6::new(ip, 0, 0, interface_index(name)?).into()
        }
        ip => SocketAddr::new(ip, 0),
    })
}

/// One of the name's addresses, IPv4 before IPv6.
fn look_up(address: &TcpAddress, attempt: u32) -> Result<SocketAddr, ResolveError> {
    let found = in_turn(look_up_each(address)?, attempt);
    found.ok_or_else(|| ResolveError::Empty(address.host.clone()))
}

/// The name's addresses.
fn look_up_each(address: &TcpAddress) -> Result<Vec<SocketAddr>, ResolveError> {
    let host = &address.host;
    let hints = AddrInfoHints { socktype: SockType::Stream.into(), ..AddrInfoHints::default() };
    let found =
        getaddrinfo(Some(host), None, Some(hints)).map_err(|error| ResolveError::lookup(host, error))?;
    // An address that is neither IPv4 nor IPv6 cannot be connected to.
    Ok(found.flatten().map(|found| with_port(found.sockaddr, address.port)).collect())
}

fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

/// Returns the address for the `attempt`th attempt. IPv4 addresses come first.
fn in_turn(mut found: Vec<SocketAddr>, attempt: u32) -> Option<SocketAddr> {
    found.sort_by_key(SocketAddr::is_ipv6);
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
    fn a_zone_stays_with_its_address() {
        let lo = interface_index("lo").unwrap();
        let expected = SocketAddr::from(SocketAddrV6::new("fe80::1".parse().unwrap(), 5, 0, lo));
        for host in ["fe80::1%lo".to_owned(), format!("fe80::1%{lo}")] {
            let address = tcp(&host, 5);
            assert_eq!(resolve_bind(&address), Ok(expected), "{host}");
            assert_eq!(resolve_connect(&address, 0, false), Ok(Some(expected)), "{host}");
            assert_eq!(resolve_each(&address), Ok(vec![expected]), "{host}");
        }
        assert_eq!(TcpAddress::from(expected), tcp("fe80::1%lo", 5));
        assert_eq!(TcpAddress::from("[::1]:5".parse::<SocketAddr>().unwrap()), tcp("::1", 5));
    }

    #[test]
    fn a_zone_that_does_not_exist_is_refused_at_once() {
        for zone in ["no such", "", "0", "4294967295", "4294967296", "lo\0"] {
            let address = tcp(&format!("fe80::1%{zone}"), 5);
            let reason = format!("host \"fe80::1%{zone}\": this machine has no network interface \"{zone}\"");
            for refused in [resolve_bind(&address).map(Some), resolve_connect(&address, 0, false)] {
                let refused = refused.unwrap_err();
                assert_eq!((refused.to_string(), refused.is_temporary()), (reason.clone(), false));
            }
        }
        let refused = resolve_connect(&tcp("fe80::1", 5), 0, false).unwrap_err();
        assert!(refused.to_string().ends_with("name its interface too, as in [fe80::1%eth0]"), "{refused}");
        assert_eq!(resolve_bind(&tcp("fe80::1", 5)), Err(refused));
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
        let found =
            ["::1", "10.0.0.1", "10.0.0.2"].map(|ip| SocketAddr::new(ip.parse().unwrap(), 5)).to_vec();
        let turn = |attempt| in_turn(found.clone(), attempt).unwrap().ip().to_string();
        let turns: Vec<_> = (0..4).map(turn).collect();
        assert_eq!(turns, ["10.0.0.1", "10.0.0.2", "::1", "10.0.0.1"]);
        assert_eq!(in_turn(Vec::new(), 0), None);
    }

    #[test]
    fn names_are_left_to_a_blocking_look_up() {
        assert!(resolve_connect(&tcp("localhost", 5), 0, false).unwrap().is_none());
        assert!(resolve_connect(&tcp("localhost", 5), 0, true).unwrap().unwrap().ip().is_loopback());
    }
}
