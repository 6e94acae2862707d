//! A distinguished name as text: RFC 2253 with the names of attributes and the escapes of RabbitMQ, because user names are made of it.
//!
//! The last part of the name comes first. Attributes without a short name have the digits of their type. A byte that is not
//! printable ASCII, and `~`, is a backslash and two hexadecimal digits (measured with RabbitMQ 3.10.8).

use std::fmt::Write;

use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::Any;
use x509_cert::der::{Tag, Tagged};
use x509_cert::name::Name;

/// Types of attributes and their short names.
const SHORT_NAMES: [(&str, &str); 16] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "SERIALNUMBER"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.12", "TITLE"),
    ("2.5.4.42", "GIVENNAME"),
    ("2.5.4.43", "INITIALS"),
    ("2.5.4.44", "GENERATIONQUALIFIER"),
    ("2.5.4.65", "PSEUDONYM"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "EMAILADDRESS"),
];
/// Bytes that have a backslash before them.
const ESCAPED: &[u8] = b",+\"\\<>;";

/// The name as text, empty for a name without parts.
pub(super) fn to_text(name: &Name) -> String {
    let parts = name.iter_rdn().map(|part| {
        let attributes: Vec<_> = part.iter().map(attribute).collect();
        attributes.join("+")
    });
    let mut parts: Vec<_> = parts.collect();
    parts.reverse();
    parts.join(",")
}

fn attribute(attribute: &AttributeTypeAndValue) -> String {
    let kind = attribute.oid.to_string();
    let short = SHORT_NAMES.iter().find(|(oid, _)| *oid == kind).map(|(_, short)| *short);
    let mut text = format!("{}=", short.unwrap_or(&kind));
    match text_of(&attribute.value) {
        Some(value) => escape(value.as_bytes(), &mut text),
        // The bytes of a value that is not text, as RFC 2253 has it.
        None => {
            text.push('#');
            attribute.value.value().iter().for_each(|byte| hexadecimal(*byte, &mut text));
        }
    }
    text
}

fn escape(value: &[u8], into: &mut String) {
    for (at, byte) in value.iter().copied().enumerate() {
        let is_first = at == 0;
        let is_last = at + 1 == value.len();
        match byte {
            b' ' if is_first || is_last => into.push_str("\\ "),
            b'#' if is_first => into.push_str("\\#"),
            byte if ESCAPED.contains(&byte) => {
                into.push('\\');
                into.push(char::from(byte));
            }
            b' '..b'~' => into.push(char::from(byte)),
            byte => {
                into.push('\\');
                hexadecimal(byte, into);
            }
        }
    }
}

fn hexadecimal(byte: u8, into: &mut String) {
    // A write to a text cannot fail.
    let _ = write!(into, "{byte:02X}");
}

/// The text of `value`. `None`: the value is no string, or has bytes that its type does not allow.
pub(super) fn text_of(value: &Any) -> Option<String> {
    let bytes = value.value();
    match value.tag() {
        Tag::Utf8String => String::from_utf8(bytes.to_vec()).ok(),
        Tag::PrintableString | Tag::Ia5String | Tag::NumericString | Tag::VisibleString => {
            bytes.is_ascii().then(|| bytes.iter().copied().map(char::from).collect())
        }
        // Certificates mean Latin-1 by it.
        Tag::TeletexString => Some(bytes.iter().copied().map(char::from).collect()),
        Tag::BmpString => {
            let (pairs, rest) = bytes.as_chunks::<2>();
            let units = pairs.iter().copied().map(u16::from_be_bytes);
            rest.is_empty().then(|| char::decode_utf16(units).collect::<Result<_, _>>().ok()).flatten()
        }
        _ => None,
    }
}
