//! `Address`: where the broker is, who logs in, and to which virtual host, as a URL says it.
//!
//! ```text
//! amqp://guest:guest@127.0.0.1:5672/%2F        tcp
//! amqp+unix://guest:guest@%2Frun%2Famqp/%2F    a unix socket, its path in the place of the host
//! amqp+unix:///run/amqp                        the same, for the virtual host /; %40name is an abstract name
//! ```
//!
//! Each part may have percent escapes. Without a user it is guest, without a virtual host it is /. What follows a
//! question mark is for other clients.

use std::fmt;
use std::str::FromStr;

use crate::percent::unescape;

/// The port of AMQP.
const PORT: u16 = 5672;
const USER: &str = "guest";
const VIRTUAL_HOST: &str = "/";
/// The longest name of a virtual host that a connection can open.
const VIRTUAL_HOST_SIZE_MAX: usize = 255;

/// Where the broker is and who logs in.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub place: Place,
    pub user: String,
    pub password: String,
    pub virtual_host: String,
}

/// The address to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Tcp {
        host: String,
        port: u16,
    },
    /// A path, or @ and an abstract name.
    Unix {
        path: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Place::Tcp { host, port } => write!(f, "{host}:{port}"),
            Place::Unix { path } => f.write_str(path),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as {} in {}", self.place, self.user, self.virtual_host)
    }
}

impl FromStr for Address {
    type Err = String;

    /// Errors do not contain the password.
    fn from_str(url: &str) -> Result<Address, String> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err("a broker's address is amqp://USER:PASSWORD@HOST:PORT/VIRTUAL-HOST".into());
        };
        let rest = rest.split(['?', '#']).next().unwrap_or(rest);
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, Some(path)),
            None => (rest, None),
        };
        let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (unescape(user)?, unescape(password)?),
            None if login.is_empty() => (USER.into(), USER.into()),
            None => (unescape(login)?, String::new()),
        };
        let (place, path) = match &*scheme.to_ascii_lowercase() {
            "amqp" => (tcp(host)?, path),
            "amqp+unix" if host.is_empty() => {
                let path = path.map(unescape).transpose()?.unwrap_or_default();
                (unix(path.strip_prefix('@').map_or(format!("/{path}"), |name| format!("@{name}")))?, None)
            }
            "amqp+unix" => (unix(unescape(host)?)?, path),
            "amqps" => return Err("amqps, AMQP with TLS, is not supported yet".into()),
            scheme => return Err(format!("{scheme}:// is neither amqp:// nor amqp+unix://")),
        };
        let virtual_host = match path {
            None | Some("") => VIRTUAL_HOST.to_owned(),
            Some(path) => unescape(path)?,
        };
        if virtual_host.len() > VIRTUAL_HOST_SIZE_MAX {
            return Err(format!("a virtual host's name has at most {VIRTUAL_HOST_SIZE_MAX} bytes"));
        }
        Ok(Address { place, user, password, virtual_host })
    }
}

fn tcp(authority: &str) -> Result<Place, String> {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port {
        None | Some("") => PORT,
        Some(port) => port.parse().map_err(|_| format!("{port:?} is no port"))?,
    };
    let host = if host.is_empty() { "127.0.0.1".to_owned() } else { unescape(host)? };
    Ok(Place::Tcp { host, port })
}

fn unix(path: String) -> Result<Place, String> {
    match path.len() {
        0 | 1 => Err("amqp+unix:// has no path of a socket".into()),
        _ => Ok(Place::Unix { path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> (String, String, String, String) {
        let Address { place, user, password, virtual_host } = url.parse().unwrap();
        (place.to_string(), user, password, virtual_host)
    }

    fn all(place: &str, user: &str, password: &str, host: &str) -> (String, String, String, String) {
        (place.into(), user.into(), password.into(), host.into())
    }

    #[test]
    fn parts_that_are_missing_are_the_usual_ones() {
        let usual = all("127.0.0.1:5672", "guest", "guest", "/");
        for url in [
            "amqp://",
            "amqp://127.0.0.1",
            "AMQP://:5672/",
            "amqp://guest:guest@/%2F",
            "amqp:///%2f?heartbeat=1",
        ] {
            assert_eq!(address(url), usual, "{url}");
        }
        assert_eq!(address("amqp://me@there:1/a"), all("there:1", "me", "", "a"));
        assert_eq!(address("amqp://[::1]:7/"), all("[::1]:7", "guest", "guest", "/"));
    }

    #[test]
    fn escapes_stand_for_bytes() {
        assert_eq!(
            address("amqp://m%65:p%40%3A%C3%A4@host/a%2Fb/c"),
            all("host:5672", "me", "p@:\u{e4}", "a/b/c")
        );
        assert_eq!(address("amqp+unix://a:b@%2Frun%2Fx/v"), all("/run/x", "a", "b", "v"));
        assert_eq!(address("amqp+unix:///run/x"), all("/run/x", "guest", "guest", "/"));
        assert_eq!(address("amqp+unix:///%40x"), all("@x", "guest", "guest", "/"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_without_the_password() {
        for url in [
            "",
            "there",
            "amqps://u:secret@x",
            "http://u:secret@x",
            "amqp://u:secret@x:port",
            "amqp://u:secret%4@x",
        ] {
            let error = url.parse::<Address>().unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
