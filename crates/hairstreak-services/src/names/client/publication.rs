//! `Publication`: the endpoint that is published to others. It is never a wildcard.

use std::mem;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use hairstreak_socket::{Endpoint as Bound, EndpointError, TcpAddress};
use hairstreak_wire::directory::{Endpoint, FieldError};
use thiserror::Error;

/// Reason that an endpoint cannot be published.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PublicationError {
    /// The endpoint breaks a rule of the directory.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The advertised text is not an endpoint.
    #[error("cannot advertise {text}: {source}")]
    NotAnEndpoint {
        /// The given text.
        text: String,
        /// The error.
        source: EndpointError,
    },
    /// The advertised endpoint has another transport than the bound one.
    #[error("cannot advertise {advertised} for {bound}: who connects there would not get here")]
    OtherTransport {
        /// The advertised endpoint.
        advertised: String,
        /// The bound endpoint.
        bound: String,
    },
    /// Only this process can connect to the endpoint.
    #[error("nobody outside this process could connect to {bound}, use tcp:// or ipc://")]
    Inproc {
        /// The bound endpoint.
        bound: String,
    },
}

/// Source of the published endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Publication {
    /// This endpoint, unchanged.
    Fixed(Endpoint),
    /// This machine's address on the connection to the directory, with this port.
    Port(u16),
}

impl Publication {
    /// Returns the publication of a socket bound to `bound`.
    pub fn of(bound: &Bound, advertise: Option<&str>) -> Result<Publication, PublicationError> {
        let port = match bound {
            Bound::Tcp(address) => Some(address.port),
            Bound::Ipc(_) | Bound::Shm(_) | Bound::Vortex(_) => None,
            Bound::Inproc(_) => return Err(PublicationError::Inproc { bound: bound.to_string() }),
        };
        if let Some(advertise) = advertise {
            let port = port.map(|port| port.to_string()).unwrap_or_default();
            let endpoint = super::host_port::endpoint(advertise, &port);
            let text = || advertise.escape_debug().to_string();
            let advertised: Bound = endpoint
                .parse()
                .map_err(|source| PublicationError::NotAnEndpoint { text: text(), source })?;
            if mem::discriminant(&advertised) != mem::discriminant(bound) {
                let (advertised, bound) = (text(), bound.to_string());
                return Err(PublicationError::OtherTransport { advertised, bound });
            }
            return Ok(Publication::Fixed(Endpoint::new(&endpoint)?));
        }
        match bound {
            Bound::Tcp(address) if is_wildcard(&address.host) => Ok(Publication::Port(address.port)),
            bound => Ok(Publication::Fixed(Endpoint::new(&bound.to_string())?)),
        }
    }

    /// Returns the endpoint to publish, given the local address of the connection to the directory. `None`: it is not a
    /// network connection, so all clients of that directory are on this machine.
    pub fn endpoint(&self, local: Option<SocketAddr>) -> Result<Endpoint, FieldError> {
        match self {
            Publication::Fixed(endpoint) => Ok(endpoint.clone()),
            Publication::Port(port) => {
                let mut local = local.unwrap_or((Ipv4Addr::LOCALHOST, 0).into());
                if local.ip().to_canonical().is_ipv4() {
                    local.set_ip(local.ip().to_canonical());
                }
                local.set_port(*port);
                Endpoint::new(&Bound::Tcp(TcpAddress::from(local)).to_string())
            }
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
        assert_eq!(
            publication.endpoint(local.parse().ok().map(|ip: IpAddr| (ip, 1).into())).unwrap().as_str(),
            expected
        );
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
        refused("tcp://*:7", Some("*"));
    }

    fn refused(bound: &str, advertise: Option<&str>) -> String {
        Publication::of(&bound.parse().unwrap(), advertise).unwrap_err().to_string()
    }

    #[test]
    fn what_nobody_could_connect_to_is_not_published() {
        let reason = "nobody outside this process could connect to inproc://x, use tcp:// or ipc://";
        assert_eq!(refused("inproc://x", None), reason);
        assert_eq!(refused("inproc://x", Some("host:7")), reason);
        for advertise in ["h:99999", "a b", "h:x", "ipc:///x", "nowhere://x", "a\nb"] {
            let refused = refused("tcp://*:7", Some(advertise));
            assert!(refused.contains(&advertise.escape_debug().to_string()), "{refused}");
            assert_eq!(refused.lines().count(), 1, "{refused}");
        }
    }
}
