//! `RequestId`: which request of which client, as everybody on its way knows it.
//!
//! - `Numbered`: the property by which a peer tells in READY that it can number requests.

use std::fmt;

/// A client: 128 random bits, which whoever does not get its requests does not know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub [u8; 16]);

/// One of a client's requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId {
    /// Whose.
    pub client: ClientId,
    /// Which; from 1.
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

/// The peer speaks [HSN1](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered;

const PROPERTY: &str = "X-Hairstreak-Services";
const VERSION: u8 = 1;

impl Numbered {
    /// As a property for READY.
    pub fn to_property(self) -> (String, Vec<u8>) {
        (PROPERTY.to_owned(), vec![VERSION])
    }

    /// Whether a peer with these properties can. One that speaks a later version understands this one too.
    pub fn of<'a>(properties: impl IntoIterator<Item = &'a (String, Vec<u8>)>) -> Option<Numbered> {
        let mut properties = properties.into_iter();
        let (_, value) = properties.find(|(name, _)| name.eq_ignore_ascii_case(PROPERTY))?;
        value.first().is_some_and(|version| *version >= VERSION).then_some(Numbered)
    }
}
