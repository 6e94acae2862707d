//! `Url`: the parts of a URL (RFC 3986), as the addresses of brokers and of the management API have them; and percent escapes.
//!
//! ```text
//! amqp://guest:guest@127.0.0.1:5672/%2F?heartbeat=1
//!        login       authority      path query
//! ```
//!
//! The parser is our own: `http::Uri` and `url` refuse addresses that are accepted here (docs/adr/0006).

use std::net::Ipv6Addr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The host of a URL that names none.
const HOST: &str = "127.0.0.1";

/// The parts of a URL. Errors do not contain the password.
pub struct Url<'a> {
    /// The scheme in lower case.
    pub scheme: String,
    /// The user, without percent escapes.
    pub user: Option<String>,
    /// The password, without percent escapes.
    pub password: Option<String>,
    /// Host and port as they stand in the URL.
    pub authority: &'a str,
    /// The path behind its first slash, as it stands in the URL.
    pub path: &'a str,
    /// The text between a question mark and the fragment.
    pub query: &'a str,
}

impl<'a> Url<'a> {
    /// Splits a URL.
    ///
    /// # Errors
    ///
    /// The text has no scheme: the error is then `usage`. The user or the password has a malformed escape.
    pub fn parse(text: &'a str, usage: &str) -> Result<Url<'a>, String> {
        let (scheme, rest) = text.split_once("://").ok_or(usage)?;
        let rest = rest.split('#').next().unwrap_or(rest);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, authority) = authority.rsplit_once('@').unwrap_or(("", authority));
        let mut login = login.splitn(2, ':').filter(|_| !login.is_empty()).map(unescape);
        Ok(Url {
            scheme: scheme.to_ascii_lowercase(),
            user: login.next().transpose()?,
            password: login.next().transpose()?,
            authority,
            path,
            query,
        })
    }

    /// Returns host and port, or the usual ones where the URL has none.
    ///
    /// # Errors
    ///
    /// The port is no number, or the host has a malformed escape.
    pub fn host_and_port(&self, usual_port: u16) -> Result<(String, u16), String> {
        let (host, port) = match self.authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, ""),
            Some((host, rest)) => {
                (host, rest.strip_prefix(':').ok_or_else(|| format!("{rest:?} is no port"))?)
            }
            None => self.authority.split_once(':').unwrap_or((self.authority, "")),
        };
        let port = match port {
            "" => usual_port,
            port => port.parse().map_err(|_| format!("{port:?} is no port"))?,
        };
        let host = if host.is_empty() { HOST.to_owned() } else { unescape_host(host)? };
        Ok((host, port))
    }
}

/// The bytes that are escaped in a segment of a path or a value of a query: all but letters, digits, hyphens and underscores. A segment of
/// dots would otherwise be a step to another folder for a proxy in front of the server.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// Escapes a segment of a path or a value of a query.
pub fn escape(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// Returns the text of a part of an address.
///
/// # Errors
///
/// A percent sign without two digits, or bytes that are no UTF-8. The error does not contain the text: it may be a password.
pub fn unescape(text: &str) -> Result<String, String> {
    let is_escape =
        |rest: &str| rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    if !text.split('%').skip(1).all(is_escape) {
        return Err("a percent sign in the address is not followed by two hexadecimal digits".to_owned());
    }
    let decoded = percent_decode_str(text).decode_utf8();
    Ok(decoded.map_err(|_| "a part of the address is no UTF-8".to_owned())?.into_owned())
}

/// Returns the host of a URL. Behind an IPv6 address a percent sign begins the zone: `%25` (RFC 6874), or `%` alone as people type it.
fn unescape_host(text: &str) -> Result<String, String> {
    match text.split_once('%') {
        Some((ip, zone)) if ip.parse::<Ipv6Addr>().is_ok() => {
            let zone = zone.strip_prefix("25").filter(|zone| !zone.is_empty()).unwrap_or(zone);
            Ok(format!("{ip}%{}", unescape(zone)?))
        }
        _ => unescape(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_come_back() {
        for (text, escaped) in
            [("/", "%2F"), ("a-b_C9", "a-b_C9"), ("..", "%2E%2E"), ("\u{e4} %", "%C3%A4%20%25"), ("", "")]
        {
            assert_eq!(escape(text), escaped);
            assert_eq!(unescape(escaped).as_deref(), Ok(text));
        }
        for (host, expected) in [
            ("fe80::1%eth0", "fe80::1%eth0"),
            ("fe80::1%25eth0", "fe80::1%eth0"),
            ("fe80::1%25", "fe80::1%25"),
            ("fe80::1%2", "fe80::1%2"),
            ("a%2Db", "a-b"),
        ] {
            assert_eq!(unescape_host(host).as_deref(), Ok(expected), "{host}");
        }
        assert_eq!(unescape("%2f").as_deref(), Ok("/"));
        for wrong in ["%", "%4", "%g0", "%ff"] {
            assert!(unescape(wrong).is_err(), "{wrong}");
        }
    }
}
