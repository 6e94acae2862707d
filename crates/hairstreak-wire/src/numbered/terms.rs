//! `Numbered`: the property by which a peer tells in READY that it can number requests.
//!
//! ```text
//! property X-Hairstreak-Services:  version (1) = 1 | further bytes of later versions
//! ```

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
