//! `HttpAddress`: where the management HTTP API is and who logs in, as a URL says it.
//!
//! ```text
//! http://guest:guest@127.0.0.1:15672     https://admin@broker.example/rabbit
//! ```
//!
//! User and password may have percent escapes. `/api`, with which every path of the API begins, may stand at the end.

use std::fmt;
use std::str::FromStr;

use hairstreak_amqp::Place;
use hairstreak_amqp::percent::{unescape, unescape_host};

/// The port of the API, and the one with TLS.
const PORT: u16 = 15672;
const TLS_PORT: u16 = 15671;
const HOST: &str = "127.0.0.1";

/// Where the API is and who logs in.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpAddress {
    pub is_tls: bool,
    /// A name or an address; one of IPv6 stands in brackets.
    host: String,
    port: u16,
    /// The path before `/api`, without a slash at the end.
    prefix: String,
    pub user: Option<String>,
    pub password: Option<String>,
}

impl HttpAddress {
    /// The host and the port to connect to.
    pub fn tcp(&self) -> Place {
        let host = self.host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Place::Tcp { host, port: self.port }
    }

    /// The URL that a request has: a zone of an address means something on this host only (RFC 6874, section 1).
    pub fn request_url(&self) -> String {
        match (self.host.split_once('%'), self.to_string()) {
            (Some((_, zone)), url) => url.replacen(&format!("%{}", zone.trim_end_matches(']')), "", 1),
            (None, url) => url,
        }
    }

    /// The host and the port.
    pub fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// The URL without user and password.
impl fmt::Display for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.place(), self.prefix)
    }
}

impl fmt::Debug for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} as {:?}", self.user)
    }
}

impl FromStr for HttpAddress {
    type Err = String;

    /// Errors do not contain the password.
    fn from_str(url: &str) -> Result<HttpAddress, String> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err("the address is http://USER:PASSWORD@HOST:PORT".into());
        };
        let is_tls = match &*scheme.to_ascii_lowercase() {
            "http" => false,
            "https" => true,
            "amqp" | "amqps" => {
                return Err(format!(
                    "{scheme}:// is for messages; operators' commands need http:// or https://"
                ));
            }
            scheme => return Err(format!("{scheme}:// is neither http:// nor https://")),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if path.contains(['?', '#']) || authority.contains(['?', '#']) {
            return Err("the address has a query or a fragment, which the API has no use for".into());
        }
        let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (Some(unescape(user)?), Some(unescape(password)?)),
            None if login.is_empty() => (None, None),
            None => (Some(unescape(login)?), None),
        };
        let (host, port) = host_and_port(host)?;
        let path = path.trim_end_matches('/');
        let path =
            path.strip_suffix("api").filter(|rest| rest.is_empty() || rest.ends_with('/')).unwrap_or(path);
        let prefix = match path.trim_matches('/') {
            "" => String::new(),
            path => format!("/{path}"),
        };
        if !is_printable(&host) || !is_printable(&prefix) {
            return Err("host and path may only have printable ASCII characters without spaces".into());
        }
        let port = port.unwrap_or(if is_tls { TLS_PORT } else { PORT });
        Ok(HttpAddress { is_tls, host, port, prefix, user, password })
    }
}

/// A host, in brackets if it is an address of IPv6, and the port if there is one.
fn host_and_port(authority: &str) -> Result<(String, Option<u16>), String> {
    let end = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    let (host, port) = match authority[end..].find(':') {
        Some(colon) => (&authority[..end + colon], &authority[end + colon + 1..]),
        None => (authority, ""),
    };
    let port = match port {
        "" => None,
        port => Some(port.parse().map_err(|_| format!("{port:?} is no port"))?),
    };
    let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => format!("[{}]", unescape_host(address)?),
        None if host.is_empty() => HOST.to_owned(),
        None => host.to_owned(),
    };
    Ok((host, port))
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> (String, Option<String>, Option<String>) {
        let address: HttpAddress = url.parse().unwrap();
        (address.to_string(), address.user, address.password)
    }

    #[test]
    fn parts_that_are_missing_are_the_usual_ones() {
        for (url, expected) in [
            ("http://", "http://127.0.0.1:15672"),
            ("HTTPS://there/", "https://there:15671"),
            ("http://there:80/api/", "http://there:80"),
            ("http://[::1]/rabbit/api", "http://[::1]:15672/rabbit"),
            ("http://[::1]:7/rabbit/", "http://[::1]:7/rabbit"),
            ("http://there/myapi", "http://there:15672/myapi"),
        ] {
            assert_eq!(parsed(url), (expected.to_owned(), None, None), "{url}");
        }
    }

    #[test]
    fn a_zone_is_for_the_connection_alone() {
        for url in ["http://[fe80::1%eth0]/", "http://[fe80::1%25eth0]/"] {
            let address: HttpAddress = url.parse().unwrap();
            assert_eq!(address.to_string(), "http://[fe80::1%eth0]:15672");
            assert_eq!(address.request_url(), "http://[fe80::1]:15672");
            assert_eq!(address.tcp(), Place::Tcp { host: "fe80::1%eth0".into(), port: 15672 });
        }
    }

    #[test]
    fn a_login_may_have_escapes_and_stays_out_of_the_text() {
        let (text, user, password) = parsed("http://m%65:p%40%3A@host:1");
        assert_eq!(
            (&*text, user.as_deref(), password.as_deref()),
            ("http://host:1", Some("me"), Some("p@:"))
        );
        assert_eq!(parsed("http://me@host:1").1.as_deref(), Some("me"));
        assert_eq!(parsed("http://me@host:1").2, None);
    }

    #[test]
    fn what_makes_no_sense_is_refused_without_the_password() {
        for url in [
            "",
            "there:15672",
            "amqp://u:secret@x",
            "ftp://u:secret@x",
            "http://u:secret@x:port",
            "http://u:secret@x:70000",
            "http://u:secret%4@x",
            "http://u:secret@x y/",
            "http://u:secret@x/?a=1",
        ] {
            let error = url.parse::<HttpAddress>().unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
