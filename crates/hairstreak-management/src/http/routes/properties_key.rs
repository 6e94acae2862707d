//! `properties_key`: the name of a binding among those between the same two ends.
//!
//! ```text
//!   ~           no routing key, no arguments
//!   key         a routing key, no arguments
//!   key~hash    arguments; without a routing key `~hash`
//! ```
//!
//! The key is quoted, so that `~` in it is `%7E`. The hash is Erlang's, so that a name is the same here and in RabbitMQ.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hairstreak_broker::view::BindingInfo;

use super::term_hash::hash_of;

/// The name of a binding.
pub(crate) fn properties_key(binding: &BindingInfo) -> String {
    let key = quote(&binding.routing_key);
    match (key.is_empty(), binding.arguments.is_empty()) {
        (true, true) => "~".into(),
        (false, true) => key,
        (_, false) => format!("{key}~{}", hash(binding)),
    }
}

/// Returns `true` if a segment of a path names the binding. The segment was decoded once, as all of the path. Clients
/// send the name encoded for the path, so that its key was quoted twice, or they quote the key once. The key is decoded
/// here again, as in RabbitMQ.
pub(crate) fn is_named(binding: &BindingInfo, segment: &[u8]) -> bool {
    let tilde = segment.iter().position(|byte| *byte == b'~');
    let (key, given) = tilde.map_or((segment, None), |at| (&segment[..at], Some(&segment[at + 1..])));
    let has_key = || unquote(key) == *binding.routing_key;
    match (given, binding.arguments.is_empty()) {
        (None, is_plain) => is_plain && !key.is_empty() && has_key(),
        (Some(b""), true) => key.is_empty() && has_key(),
        (Some(given), is_plain) => !is_plain && has_key() && *given == *hash(binding).as_bytes(),
    }
}

/// A name within a URL: letters, digits and `.-_~` as they are. A space is `+`.
pub(crate) fn quote_plus(bytes: &[u8]) -> String {
    let mut quoted = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' | b'-' | b'_' | b'~' => {
                quoted.push(char::from(*byte))
            }
            b' ' => quoted.push('+'),
            // Writing to a string cannot fail.
            other => drop(write!(quoted, "%{other:02X}")),
        }
    }
    quoted
}

fn quote(bytes: &[u8]) -> String {
    quote_plus(bytes).replace('~', "%7E")
}

/// The bytes of a quoted key. All bytes but escapes stand for themselves.
fn unquote(key: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        let escaped = match (first, behind) {
            (b'%', [high, low, ..]) => digit(high).zip(digit(low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &behind[2..];
            }
            None => bytes.push(if *first == b'+' { b' ' } else { *first }),
        }
    }
    bytes
}

fn hash(binding: &BindingInfo) -> String {
    URL_SAFE_NO_PAD.encode(hash_of(&binding.arguments.decode()).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use hairstreak_wire::amqp::FieldTable;

    use super::*;

    fn binding(key: &[u8], arguments: &[(&str, i64)]) -> BindingInfo {
        BindingInfo {
            routing_key: key.into(),
            arguments: arguments.iter().copied().collect::<FieldTable>().into(),
            ..BindingInfo::default()
        }
    }

    /// The answers of RabbitMQ 3.10.8.
    #[test]
    fn a_binding_is_named_by_its_key_and_arguments() {
        for (key, name) in [
            (&b""[..], "~"),
            (b"k", "k"),
            (b"a~b/c", "a%7Eb%2Fc"),
            ("\u{e4} b".as_bytes(), "%C3%A4+b"),
            (b"a.b-c_d#*", "a.b-c_d%23%2A"),
        ] {
            assert_eq!(properties_key(&binding(key, &[])), name);
        }
        assert_eq!(properties_key(&binding(b"k", &[("n", 1)])), "k~hadFaw");
        assert_eq!(properties_key(&binding(b"", &[("n", 1)])), "~hadFaw");
    }

    /// The segments are decoded once. RabbitMQ 3.10.8 finds the same.
    #[test]
    fn a_binding_is_found_by_its_name_and_by_its_key_as_it_is() {
        for (key, names, others) in [
            (&b""[..], &["~"][..], &["", "~~", "k"][..]),
            (b"k", &["k", "%6B"], &["~", "k~", "K", "k~hadFaw"]),
            (b"a.#", &["a.#", "a.%23"], &["a.%2523"]),
            (b"a b", &["a b", "a+b", "a%20b"], &[]),
            (b"a+b", &["a%2Bb"], &["a+b"]),
            (b"a/b", &["a/b", "a%2Fb"], &[]),
            (b"100%", &["100%", "100%25"], &["100%2525"]),
            (b"a%2", &["a%2", "a%252"], &[]),
            (b"%zz", &["%zz", "%25zz"], &[]),
            (b"a%23", &["a%2523"], &["a%23"]),
            (b"a~b", &["a%7Eb"], &["a~b"]),
            (b"~", &["%7E"], &["~", "~~"]),
            ("\u{e4}".as_bytes(), &["\u{e4}", "%C3%A4"], &[]),
        ] {
            let plain = binding(key, &[]);
            let with_arguments = binding(key, &[("n", 1)]);
            assert!(is_named(&plain, properties_key(&plain).as_bytes()));
            assert!(is_named(&with_arguments, properties_key(&with_arguments).as_bytes()));
            for (names, is_name) in [(names, true), (others, false)] {
                for name in names {
                    assert_eq!(is_named(&plain, name.as_bytes()), is_name, "{name}");
                    let name = format!("{}~hadFaw", if *name == "~" { "" } else { name });
                    let is_name = is_name || key.is_empty() && name == "~hadFaw";
                    assert_eq!(is_named(&with_arguments, name.as_bytes()), is_name, "{name}");
                    assert!(!is_named(&with_arguments, name.replace("Faw", "FaW").as_bytes()), "{name}");
                }
            }
        }
    }
}
