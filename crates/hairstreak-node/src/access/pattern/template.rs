//! Fills in the variables of topic permissions: `{username}`, `{vhost}` and `{client_id}`.
//!
//! A value stands for itself: its characters are escaped. RabbitMQ 3.10 does not escape them, so that a user named `.*` matches
//! every topic there, and `l.m` the topics of `lxm`.

use std::fmt::Write;

/// The values of the variables.
#[derive(Clone, Copy)]
pub(in crate::access) struct Variables<'a> {
    pub user: &'a str,
    pub virtual_host: &'a str,
    /// The client id of MQTT, any bytes. AMQP has none: `{client_id}` stands for itself then, as in RabbitMQ.
    pub client_id: Option<&'a [u8]>,
}

/// The pattern with the values of its variables.
pub(in crate::access) fn expand(pattern: &str, variables: Variables<'_>) -> String {
    let Variables { user, virtual_host, client_id } = variables;
    let values = [
        ("{username}", Some(user.as_bytes())),
        ("{vhost}", Some(virtual_host.as_bytes())),
        ("{client_id}", client_id),
    ];
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                push_literal(value.unwrap_or(name.as_bytes()), &mut out);
                rest = &rest[name.len()..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn push_literal(value: &[u8], out: &mut String) {
    for &byte in value {
        // Writing to a string does not fail.
        let _ = match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => write!(out, "{}", char::from(byte)),
            b'!'..=b'~' => write!(out, "\\{}", char::from(byte)),
            _ => write!(out, "\\x{byte:02X}"),
        };
    }
}
