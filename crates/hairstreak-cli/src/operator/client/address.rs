//! `HttpAddress`: the place of the management HTTP API and the login, from a URL.
//!
//! ```text
//! http://guest:guest@127.0.0.1:15672     https://admin@broker.example/rabbit
//! ```
//!
//! User and password may have percent escapes. The path may end with `/api`, with which every path of the API begins.

use std::fmt;
use std::str::FromStr;

use hairstreak_amqp::{Place, Url};

/// The port of the API, and the one with TLS.
const PORT: u16 = 15672;
const TLS_PORT: u16 = 15671;

/// The place of the API, and the login.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpAddress {
    pub is_tls: bool,
    pub place: Place,
    /// The path before `/api`, without a slash at the end.
    prefix: String,
    pub user: Option<String>,
    pub password: Option<String>,
}

impl HttpAddress {
    /// The host, without brackets.
    pub fn host(&self) -> &str {
        match &self.place {
            Place::Tcp { host, .. } => host,
            Place::Unix { path } => path,
        }
    }

    /// The URL of a request, without the zone of an address: a zone means something on this host only (RFC 6874, section 1).
    pub fn request_url(&self) -> String {
        let zone = self.host().split_once('%').map(|(_, zone)| format!("%{zone}"));
        zone.map_or(self.to_string(), |zone| self.to_string().replacen(&zone, "", 1))
    }
}

/// The URL without user and password.
impl fmt::Display for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.place, self.prefix)
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
    fn from_str(text: &str) -> Result<HttpAddress, String> {
        let url = Url::parse(text, "the address is http://USER:PASSWORD@HOST:PORT")?;
        let (is_tls, usual_port) = match &*url.scheme {
            "http" => (false, PORT),
            "https" => (true, TLS_PORT),
            scheme @ ("amqp" | "amqps") => {
                return Err(format!(
                    "{scheme}:// is for messages; operators' commands need http:// or https://"
                ));
            }
            scheme => return Err(format!("{scheme}:// is neither http:// nor https://")),
        };
        if text.contains(['?', '#']) {
            return Err("the address has a query or a fragment, which the API has no use for".into());
        }
        let (host, port) = url.host_and_port(usual_port)?;
        let path = url.path.trim_end_matches('/');
        let path =
            path.strip_suffix("api").filter(|rest| rest.is_empty() || rest.ends_with('/')).unwrap_or(path);
        let prefix = match path.trim_matches('/') {
            "" => String::new(),
            path => format!("/{path}"),
        };
        if !is_printable(&host) || !is_printable(&prefix) {
            return Err("host and path may only have printable ASCII characters without spaces".into());
        }
        let place = Place::Tcp { host, port };
        Ok(HttpAddress { is_tls, place, prefix, user: url.user, password: url.password })
    }
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
            assert_eq!(address.place, Place::Tcp { host: "fe80::1%eth0".into(), port: 15672 });
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
    fn malformed_addresses_are_refused_without_the_password() {
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
