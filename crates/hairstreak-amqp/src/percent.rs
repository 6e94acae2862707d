//! Percent escapes (RFC 3986, section 2.1), as addresses and paths have them.

use std::net::Ipv6Addr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

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

/// Returns the host of an address. Behind an IPv6 address a percent sign begins the zone: `%25` (RFC 6874), or `%` alone as people type it.
///
/// # Errors
///
/// As [`unescape`].
pub fn unescape_host(text: &str) -> Result<String, String> {
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
