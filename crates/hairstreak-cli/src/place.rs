//! `Place`: the type and the endpoint of a socket of a proxy, as typed: TYPE@ENDPOINT.

use std::str::FromStr;

use hairstreak_socket::Endpoint;

/// The prefix of an endpoint to connect to.
const CONNECT: &str = "connect:";

/// The socket types of a proxy.
pub const TYPES: [&str; 10] =
    ["ROUTER", "DEALER", "XSUB", "XPUB", "SUB", "PUB", "PULL", "PUSH", "PAIR", "REP"];

/// A socket's type, and one endpoint of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// One of [`TYPES`].
    pub socket_type: &'static str,
    /// `true` if the socket connects instead of listening.
    pub connects: bool,
    pub endpoint: String,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let Some((name, rest)) = text.split_once('@') else {
            return Err(format!("a place is TYPE@ENDPOINT or TYPE@{CONNECT}ENDPOINT"));
        };
        let found = TYPES.into_iter().find(|known| known.eq_ignore_ascii_case(name));
        let Some(socket_type) = found else {
            return Err(format!("{name} is none of {}", TYPES.join(", ")));
        };
        let (connects, endpoint) = match rest.strip_prefix(CONNECT) {
            Some(endpoint) => (true, endpoint),
            None => (false, rest),
        };
        if endpoint.starts_with("inproc://") {
            return Err("nobody outside this process could be reached there, use tcp:// or ipc://".into());
        }
        endpoint.parse::<Endpoint>().map_err(|error| error.to_string())?;
        Ok(Place { socket_type, connects, endpoint: endpoint.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_meant() {
        let place = |socket_type, connects, endpoint: &str| Place {
            socket_type,
            connects,
            endpoint: endpoint.to_owned(),
        };
        assert_eq!("xsub@tcp://*:1".parse(), Ok(place("XSUB", false, "tcp://*:1")));
        assert_eq!("PUSH@connect:ipc://@x".parse(), Ok(place("PUSH", true, "ipc://@x")));
        for wrong in ["tcp://*:1", "REQ@tcp://*:1", "PULL@inproc://x", "PULL@", "PULL@tcp://x:y", ""] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }
}
