//! Percent escapes (RFC 3986, section 2.1), as addresses and paths have them.

use std::net::Ipv6Addr;

/// A segment of a path or a value of a query: each byte that is no letter, digit, hyphen or underscore is escaped. A
/// segment of dots would otherwise be a step to another folder for what stands between here and the server.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'-' | b'_' => escaped.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => escaped.push(char::from(byte)),
            byte => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

/// The text of a part of an address. Errors do not contain it: it may be a password.
pub fn unescape(text: &str) -> Result<String, String> {
    let wrong = || "a percent sign in the address is not followed by two hexadecimal digits".to_owned();
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16)).ok_or_else(wrong);
        bytes.push(if byte == b'%' { (digit()? << 4 | digit()?) as u8 } else { byte });
    }
    String::from_utf8(bytes).map_err(|_| "a part of the address is no UTF-8".into())
}

/// The host of an address. Behind an address of IPv6 a percent sign begins its zone, as `%25` (RFC 6874) or, as people type it, `%` alone.
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
