//! The property by which a peer tells in READY that it settles.
//!
//! ```text
//! property X-Hairstreak-Settlement:  version (1) = 1 | credit (8, big endian)
//! ```

use crate::zmtp::Properties;
use crate::zmtp::metadata;

const PROPERTY: &str = "X-Hairstreak-Settlement";
/// What this side speaks; a peer that speaks more understands this too.
const VERSION: u8 = 1;
#[cfg(test)]
const PROPERTY_SIZE: usize = 9;

/// What a peer says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettlementTerms {
    /// The number of the last message that it may be sent before it grants more; 0 from one that receives none.
    pub credit: u64,
}

impl SettlementTerms {
    /// The terms as a property for READY.
    pub fn to_property(self) -> (String, Vec<u8>) {
        let mut value = vec![VERSION];
        value.extend(self.credit.to_be_bytes());
        (PROPERTY.to_owned(), value)
    }

    /// A peer's terms, if it has any that are understood.
    pub fn of(properties: &Properties) -> Option<SettlementTerms> {
        let (&version, rest) = metadata::find(properties, PROPERTY)?.split_first()?;
        let (credit, rest) = rest.split_first_chunk()?;
        // A later version may add to these.
        let is_whole = rest.is_empty() || version > VERSION;
        (version >= VERSION && is_whole).then(|| SettlementTerms { credit: u64::from_be_bytes(*credit) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_come_back_as_they_were_sent() {
        let terms = SettlementTerms { credit: 1000 };
        let (name, value) = terms.to_property();
        assert_eq!(value, [1, 0, 0, 0, 0, 0, 0, 3, 232]);
        assert_eq!(SettlementTerms::of(&vec![(name, value)]), Some(terms));
        assert_eq!(SettlementTerms::of(&Properties::new()), None);
    }

    #[test]
    fn terms_of_later_versions_may_be_longer_and_malformed_ones_are_none() {
        let of = |value: &[u8]| SettlementTerms::of(&vec![(PROPERTY.to_lowercase(), value.to_vec())]);
        let good = SettlementTerms { credit: 7 }.to_property().1;
        for size in 0..PROPERTY_SIZE {
            assert_eq!(of(&good[..size]), None, "{size} bytes");
        }
        let longer = [&good[..], b"more"].concat();
        assert_eq!(of(&longer), None);
        assert_eq!(of(&[&[9], &longer[1..]].concat()), Some(SettlementTerms { credit: 7 }));
        assert_eq!(of(&[&[0], &good[1..]].concat()), None);
    }
}
