//! `properties_key`: the name of a binding among those between the same two ends.
//!
//! ```text
//!   ~           no routing key, no arguments
//!   key         a routing key, no arguments
//!   key~hash    arguments; without a routing key `~hash`
//! ```
//!
//! The key is quoted, so that `~` in it is `%7E`. The hash is opaque to clients; RabbitMQ has another one.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hairstreak_broker::view::BindingInfo;
use hairstreak_wire::amqp::FieldTable;

/// The start and the factor of the 32-bit hash of Fowler, Noll and Vo.
const HASH_START: u32 = 0x811c_9dc5;
const HASH_FACTOR: u32 = 0x0100_0193;

/// The name of a binding.
pub(crate) fn properties_key(binding: &BindingInfo) -> String {
    let key = quote(&binding.routing_key);
    match (key.is_empty(), binding.arguments.is_empty()) {
        (true, true) => "~".into(),
        (false, true) => key,
        (_, false) => format!("{key}~{}", hash(&binding.arguments)),
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

/// The order of the arguments does not count.
fn hash(arguments: &FieldTable) -> String {
    let mut fields: Vec<Vec<u8>> = arguments
        .iter()
        .map(|(name, value)| {
            let mut one = FieldTable::new();
            one.insert(name, value.clone());
            let mut bytes = Vec::new();
            one.encode(&mut bytes);
            bytes
        })
        .collect();
    fields.sort_unstable();
    let bytes = fields.iter().flatten();
    let hash = bytes.fold(HASH_START, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(HASH_FACTOR));
    URL_SAFE_NO_PAD.encode(hash.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(key: &[u8], arguments: &[(&str, i32)]) -> BindingInfo {
        BindingInfo {
            routing_key: key.into(),
            arguments: arguments.iter().copied().collect(),
            ..BindingInfo::default()
        }
    }

    /// The answers of RabbitMQ 3.10.8, but for the hashes.
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
        let with_arguments = properties_key(&binding(b"k", &[("x", 1), ("y", 2)]));
        assert!(with_arguments.starts_with("k~") && with_arguments.len() == 8, "{with_arguments}");
        assert_eq!(with_arguments, properties_key(&binding(b"k", &[("y", 2), ("x", 1)])));
        assert_ne!(with_arguments, properties_key(&binding(b"k", &[("x", 1), ("y", 3)])));
        assert!(properties_key(&binding(b"", &[("x", 1)])).starts_with('~'));
    }
}
