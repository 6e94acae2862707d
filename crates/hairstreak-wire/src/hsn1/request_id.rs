//! `RequestId`: the client and the number of a request.
//!
//! - `property`: the property of READY that announces HSN1.

use std::fmt;

/// A client: 128 random bits, known only to the receivers of its requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub [u8; 16]);

/// One of a client's requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId {
    /// The client.
    pub client: ClientId,
    /// The number, from 1.
    pub number: u64,
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientId({self})")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.client, self.number)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({self})")
    }
}

const PROPERTY: &str = "X-Hairstreak-Services";
const VERSION: u8 = 1;

/// Returns the property of READY that announces [HSN1](super).
pub fn property() -> (String, Vec<u8>) {
    (PROPERTY.to_owned(), vec![VERSION])
}

/// Returns whether a peer with these properties speaks [HSN1](super). A peer with a later version understands this
/// version, too.
pub fn is_spoken_by<'a>(properties: impl IntoIterator<Item = &'a (String, Vec<u8>)>) -> bool {
    let found = properties.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(PROPERTY));
    found.and_then(|(_, value)| value.first()).is_some_and(|version| *version >= VERSION)
}
