//! `Publication`: the endpoint that others are told, never a wildcard.

use std::net::{IpAddr, Ipv4Addr};

use hairstreak_socket::Endpoint as Bound;
use hairstreak_wire::directory::{Endpoint, FieldError};

/// How the endpoint that others are told comes about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Publication {
    /// As it stands.
    Fixed(Endpoint),
    /// The address by which this machine reaches the directory, with this port.
    Port(u16),
}

impl Publication {
    /// Of a socket bound to `bound`.
    pub(crate) fn of(bound: &Bound, advertise: Option<&str>) -> Result<Publication, FieldError> {
        let port = match bound {
            Bound::Tcp(address) => Some(address.port),
            Bound::Ipc(_) | Bound::Shm(_) | Bound::Inproc(_) => None,
        };
        if let Some(advertise) = advertise {
            let port = port.map(|port| port.to_string()).unwrap_or_default();
            let endpoint = crate::host_port::endpoint(advertise, &port);
            return Ok(Publication::Fixed(Endpoint::new(&endpoint)?));
        }
        match bound {
            Bound::Tcp(address) if is_wildcard(&address.host) => Ok(Publication::Port(address.port)),
            bound => Ok(Publication::Fixed(Endpoint::new(&bound.to_string())?)),
        }
    }

    /// What to tell, given the local address of the connection to the directory; `None`: it is not
    /// a network connection, so whoever uses that directory is on this machine.
    pub(crate) fn endpoint(&self, local: Option<IpAddr>) -> Result<Endpoint, FieldError> {
        match self {
            Publication::Fixed(endpoint) => Ok(endpoint.clone()),
            Publication::Port(port) => match local.unwrap_or(Ipv4Addr::LOCALHOST.into()).to_canonical() {
                IpAddr::V4(ip) => Endpoint::new(&format!("tcp://{ip}:{port}")),
                IpAddr::V6(ip) => Endpoint::new(&format!("tcp://[{ip}]:{port}")),
            },
        }
    }
}

fn is_wildcard(host: &str) -> bool {
    host == "*" || host.parse().is_ok_and(|ip: IpAddr| ip.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bound: &str, advertise: Option<&str>, local: &str, expected: &str) {
        let publication = Publication::of(&bound.parse().unwrap(), advertise).unwrap();
        assert_eq!(publication.endpoint(local.parse().ok()).unwrap().as_str(), expected);
    }

    #[test]
    fn a_wildcard_is_published_as_the_address_that_reaches_the_directory() {
        check("tcp://*:7", None, "10.0.0.1", "tcp://10.0.0.1:7");
        check("tcp://0.0.0.0:7", None, "10.0.0.1", "tcp://10.0.0.1:7");
        check("tcp://[::]:7", None, "fd00::1", "tcp://[fd00::1]:7");
        check("tcp://[::]:7", None, "::ffff:10.0.0.1", "tcp://10.0.0.1:7");
        check("tcp://*:7", None, "none: ipc", "tcp://127.0.0.1:7");
    }

    #[test]
    fn an_address_that_was_asked_for_is_published_as_it_is() {
        check("tcp://192.168.0.1:7", None, "10.0.0.1", "tcp://192.168.0.1:7");
        check("ipc:///tmp/x", None, "10.0.0.1", "ipc:///tmp/x");
        check("tcp://*:7", Some("gate.example"), "10.0.0.1", "tcp://gate.example:7");
        check("tcp://*:7", Some("gate.example:9000"), "10.0.0.1", "tcp://gate.example:9000");
        check("tcp://*:7", Some("tcp://[fd00::1]:8"), "10.0.0.1", "tcp://[fd00::1]:8");
    }

    #[test]
    fn a_wildcard_cannot_be_advertised() {
        assert!(Publication::of(&"tcp://*:7".parse().unwrap(), Some("*")).is_err());
    }
}
