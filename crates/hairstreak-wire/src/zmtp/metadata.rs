//! Metadata: the properties that peers tell each other in READY (and INITIATE) commands.
//!
//! ```text
//! property:  name size (1) | name (1 to 255) | value size (4, big endian) | value
//! ```
//!
//! Names are compared without regard to case, as in the RFC. A name may be any printable ASCII, which is wider than
//! the RFC's name-char, because libzmq passes on its user's input.
//!
//! Invariants: parsed metadata has no two properties of one name and at most
//! [`PROPERTY_COUNT_MAX`] in all; its size is bounded by that of the command it came in.

use crate::Blame;
use crate::blame::escaped;

/// The largest number of properties of a peer.
pub const PROPERTY_COUNT_MAX: usize = 64;

/// The largest name of a property, in bytes.
pub const NAME_SIZE_MAX: usize = 255;

/// Properties, name and value, in the order in which they were sent.
pub type Properties = Vec<(String, Vec<u8>)>;

/// Metadata is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// The metadata ends inside a property.
    #[error("metadata of {size} bytes ends inside property {index}")]
    Cut {
        /// The size of all metadata, in bytes.
        size: usize,
        /// Index of the property, counted from 0.
        index: usize,
    },
    /// A name is empty, or contains a character outside of printable ASCII.
    #[error("property {index} has no printable name: \"{name}\"")]
    BadName {
        /// Index of the property, counted from 0.
        index: usize,
        /// The name, escaped.
        name: String,
    },
    /// Two properties have the same name.
    #[error("property {name} is there twice")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// There are more than [`PROPERTY_COUNT_MAX`] properties.
    #[error("more than {PROPERTY_COUNT_MAX} properties")]
    TooMany,
}

impl MetadataError {
    /// Returns the side at fault.
    pub fn blame(&self) -> Blame {
        Blame::PeerMisbehaved
    }
}

/// Parses properties until the end of `bytes`.
pub fn parse(bytes: &[u8]) -> Result<Properties, MetadataError> {
    let mut properties = Properties::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let index = properties.len();
        if index == PROPERTY_COUNT_MAX {
            return Err(MetadataError::TooMany);
        }
        let cut = MetadataError::Cut { size: bytes.len(), index };
        let Some((name, value, after)) = split_property(rest) else { return Err(cut) };
        rest = after;
        let name = match str::from_utf8(name) {
            Ok(name) if is_name(name) => name,
            _ => return Err(MetadataError::BadName { index, name: escaped(name) }),
        };
        if find(&properties, name).is_some() {
            return Err(MetadataError::Duplicate { name: name.to_owned() });
        }
        properties.push((name.to_owned(), value.to_owned()));
    }
    Ok(properties)
}

/// Returns the name and the value of the first property, and the rest.
fn split_property(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (&name_size, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(name_size))?;
    let (value_size, rest) = rest.split_first_chunk()?;
    let value_size = usize::try_from(u32::from_be_bytes(*value_size)).ok()?;
    let (value, rest) = rest.split_at_checked(value_size)?;
    Some((name, value, rest))
}

/// Returns whether `name` is a valid name of a property.
pub fn is_name(name: &str) -> bool {
    (1..=NAME_SIZE_MAX).contains(&name.len()) && name.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Returns the value of the property with that name, if there is one.
pub fn find<'a>(properties: &'a Properties, name: &str) -> Option<&'a [u8]> {
    let (_, value) = properties.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    Some(value)
}

/// Appends one property. Panics when `name` is invalid ([`is_name`]) or `value` is over 2^31 - 1 bytes.
pub fn encode(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    assert!(is_name(name), "{name:?} is no name for a property");
    assert!(i32::try_from(value.len()).is_ok(), "value of {} bytes for property {name}", value.len());
    out.push(name.len() as u8);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
    out.extend_from_slice(value);
}
