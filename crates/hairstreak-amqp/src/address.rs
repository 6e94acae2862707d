//! `Address`: the place of a broker, the login and the virtual host, from a URL.
//!
//! ```text
//! amqp://guest:guest@127.0.0.1:5672/%2F        tcp
//! amqp+unix://guest:guest@%2Frun%2Famqp/%2F    a unix socket, its path in the place of the host
//! amqp+unix:///run/amqp                        the same, for the virtual host /; %40name is an abstract name
//! amqps://broker.example/?cacertfile=ca.pem    tcp with TLS, port 5671
//! ```
//!
//! Each part may have percent escapes. The default user is guest, and the default virtual host is /. Query parameters of amqps
//! name the TLS files, with the names of RabbitMQ's own clients. Other parameters are for other clients.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::url::{Url, unescape};

/// The port of AMQP, and with TLS.
const PORT: u16 = 5672;
const TLS_PORT: u16 = 5671;
const USER: &str = "guest";
const VIRTUAL_HOST: &str = "/";
/// The longest name of a virtual host that a connection can open.
const VIRTUAL_HOST_SIZE_MAX: usize = 255;

/// Address of a broker, and the user who logs in there.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// The broker.
    pub place: Place,
    /// The name for the login; `guest` if the address names no user.
    pub user: String,
    /// The password; `guest` if the address names no user.
    pub password: String,
    /// The virtual host; `/` if the address names none.
    pub virtual_host: String,
    /// True if the address names a user.
    pub has_user: bool,
    /// The parameters of TLS. `None`: no TLS.
    pub tls: Option<UrlTls>,
}

/// The parameters of TLS in an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UrlTls {
    /// The file of CA roots: cacertfile.
    pub ca: Option<PathBuf>,
    /// The file of the client's certificate: certfile.
    pub certificate: Option<PathBuf>,
    /// The file of the client's key: keyfile.
    pub key: Option<PathBuf>,
    /// The name in the broker's certificate where it is not the host: server_name_indication.
    pub server_name: Option<String>,
}

/// The address to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// TCP.
    Tcp {
        /// A name, or an address without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// A unix socket.
    Unix {
        /// A path, or `@` and an abstract name.
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
    fn from_str(text: &str) -> Result<Address, String> {
        let url = Url::parse(text, "a broker's address is amqp://USER:PASSWORD@HOST:PORT/VIRTUAL-HOST")?;
        let tls = (url.scheme == "amqps").then(|| UrlTls::parse(url.query)).transpose()?;
        let (place, path) = match &*url.scheme {
            "amqp" => (tcp(url.host_and_port(PORT)?), url.path),
            "amqps" => (tcp(url.host_and_port(TLS_PORT)?), url.path),
            "amqp+unix" if url.authority.is_empty() => {
                let path = unescape(url.path)?;
                (unix(path.strip_prefix('@').map_or(format!("/{path}"), |name| format!("@{name}")))?, "")
            }
            "amqp+unix" => (unix(unescape(url.authority)?)?, url.path),
            scheme => return Err(format!("{scheme}:// is neither amqp://, amqps:// nor amqp+unix://")),
        };
        let virtual_host = if path.is_empty() { VIRTUAL_HOST.to_owned() } else { unescape(path)? };
        if virtual_host.len() > VIRTUAL_HOST_SIZE_MAX {
            return Err(format!("a virtual host's name has at most {VIRTUAL_HOST_SIZE_MAX} bytes"));
        }
        let has_user = url.user.is_some();
        let password = url.password.unwrap_or_else(|| if has_user { String::new() } else { USER.to_owned() });
        let user = url.user.unwrap_or_else(|| USER.to_owned());
        Ok(Address { place, user, password, virtual_host, has_user, tls })
    }
}

impl UrlTls {
    fn parse(query: &str) -> Result<UrlTls, String> {
        let mut tls = UrlTls::default();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = unescape(value)?;
            match name {
                "cacertfile" => tls.ca = Some(value.into()),
                "certfile" => tls.certificate = Some(value.into()),
                "keyfile" => tls.key = Some(value.into()),
                "server_name_indication" => tls.server_name = Some(value),
                "verify" if value != "verify_peer" => {
                    return Err(
                        "the broker's certificate is always verified: name its CA by --ca FILE".into()
                    );
                }
                _ => {}
            }
        }
        Ok(tls)
    }
}

fn tcp((host, port): (String, u16)) -> Place {
    Place::Tcp { host, port }
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
        let Address { place, user, password, virtual_host, .. } = url.parse().unwrap();
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
        for url in ["amqp://[fe80::1%eth0]:7/", "amqp://[fe80::1%25eth0]:7/"] {
            assert_eq!(address(url), all("[fe80::1%eth0]:7", "guest", "guest", "/"));
        }
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
    fn tls_has_its_own_port_and_its_files_in_the_address() {
        assert_eq!(address("amqps://there/v"), all("there:5671", "guest", "guest", "v"));
        let plain: Address = "amqp://there?cacertfile=ca.pem".parse().unwrap();
        assert_eq!((plain.tls, plain.has_user), (None, false));
        let url = "amqps://me@there/?cacertfile=%2Fca.pem&certfile=c&keyfile=k&server_name_indication=s&heartbeat=3&verify=verify_peer";
        let secured: Address = url.parse().unwrap();
        let files = UrlTls {
            ca: Some("/ca.pem".into()),
            certificate: Some("c".into()),
            key: Some("k".into()),
            server_name: Some("s".into()),
        };
        assert_eq!((secured.tls, secured.has_user), (Some(files), true));
        let error = "amqps://there/?verify=verify_none".parse::<Address>().unwrap_err();
        assert!(error.contains("--ca"), "{error}");
    }

    #[test]
    fn malformed_addresses_are_refused_without_the_password() {
        for url in [
            "",
            "there",
            "amqps://u:secret@x?verify=no",
            "http://u:secret@x",
            "amqp://u:secret@x:port",
            "amqp://u:secret@[::1]5672",
            "amqp://u:secret%4@x",
        ] {
            let error = url.parse::<Address>().unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
