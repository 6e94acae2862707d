//! The property of READY by which a peer announces settlement.
//!
//! ```text
//! property X-Hairstreak-Settlement:  version (1) = 1 | credit (8, big endian) | flags (1): 1 collects, 2 passes on |
//!                                     ahead (8)
//! ```

use super::error::SettlementError;
use crate::zmtp::{Properties, metadata};

const PROPERTY: &str = SettlementTerms::PROPERTY;
/// Version of this side. A peer with a higher version understands this one, too.
const VERSION: u8 = 1;
#[cfg(test)]
const PROPERTY_SIZE: usize = 18;
/// Flags of the property.
const COLLECTS: u8 = 1;
const PASSES_ON: u8 = 2;

/// A peer's announcement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SettlementTerms {
    /// Number of the last message that the peer accepts before it grants more; 0 from a peer that receives none.
    pub credit: u64,
    /// The peer only collects results of other workers: a message to it is not suspected of ending it.
    pub collects: bool,
    /// The peer passes messages on, under the same tasks: it belongs to another stage.
    pub passes_on: bool,
    /// Largest number of unfinished messages that the peer wants to have; 0: as many as its credit.
    pub ahead: u64,
}

impl SettlementTerms {
    /// Name of the property.
    pub const PROPERTY: &str = "X-Hairstreak-Settlement";

    /// Returns the terms as a property for READY.
    pub fn to_property(self) -> (String, Vec<u8>) {
        let mut value = vec![VERSION];
        value.extend(self.credit.to_be_bytes());
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        value.push(flag(self.collects, COLLECTS) | flag(self.passes_on, PASSES_ON));
        value.extend(self.ahead.to_be_bytes());
        (PROPERTY.to_owned(), value)
    }

    /// Returns a peer's terms, if it has any.
    pub fn of(properties: &Properties) -> Result<Option<SettlementTerms>, SettlementError> {
        let Some(value) = metadata::find(properties, PROPERTY) else { return Ok(None) };
        let malformed = SettlementError::MalformedTerms { size: value.len() };
        SettlementTerms::parse(value).map(Some).ok_or(malformed)
    }

    fn parse(value: &[u8]) -> Option<SettlementTerms> {
        let (&version, rest) = value.split_first()?;
        let (credit, rest) = rest.split_first_chunk()?;
        // A later version may add flags. This version ignores them.
        let (flags, rest) = rest.split_first()?;
        let (ahead, rest) = rest.split_first_chunk()?;
        // A later version may append fields.
        let is_whole = rest.is_empty() || version > VERSION;
        (version >= VERSION && is_whole).then(|| SettlementTerms {
            credit: u64::from_be_bytes(*credit),
            collects: flags & COLLECTS != 0,
            passes_on: flags & PASSES_ON != 0,
            ahead: u64::from_be_bytes(*ahead),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_come_back_as_they_were_sent() {
        for flags in 0..4 {
            let terms =
                SettlementTerms { credit: 1000, collects: flags & 1 > 0, passes_on: flags & 2 > 0, ahead: 5 };
            let (name, value) = terms.to_property();
            assert_eq!(value, [1, 0, 0, 0, 0, 0, 0, 3, 232, flags, 0, 0, 0, 0, 0, 0, 0, 5]);
            assert_eq!(SettlementTerms::of(&vec![(name, value)]), Ok(Some(terms)));
        }
    }

    #[test]
    fn terms_of_later_versions_may_be_longer_and_malformed_ones_are_refused() {
        let of = |value: &[u8]| SettlementTerms::of(&vec![(PROPERTY.to_lowercase(), value.to_vec())]);
        let terms = SettlementTerms { credit: 7, ..Default::default() };
        let good = terms.to_property().1;
        let malformed = |size| Err(SettlementError::MalformedTerms { size });
        for size in 0..PROPERTY_SIZE {
            assert_eq!(of(&good[..size]), malformed(size), "{size} bytes");
        }
        let longer = [&good[..], b"more"].concat();
        assert_eq!(of(&longer), malformed(longer.len()));
        assert_eq!(of(&[&[9], &longer[1..]].concat()), Ok(Some(terms)));
        assert_eq!(of(&[&[0], &good[1..]].concat()), malformed(PROPERTY_SIZE));
        assert_eq!(SettlementTerms::of(&Properties::new()), Ok(None));
    }
}
