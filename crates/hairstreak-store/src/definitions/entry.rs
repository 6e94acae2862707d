//! `Entry` and `Write`: a stored definition, and a change of a definition.

use std::fmt;

/// Type of a definition, such as queue or user. The caller fixes the numbers for ever, because the file contains
/// them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Kind(u8);

/// A stored definition.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Entry {
    /// Type of the definition.
    pub kind: Kind,
    /// Name of the definition, unique within its kind.
    pub key: Vec<u8>,
    /// Content of the definition, opaque to the store.
    pub value: Vec<u8>,
}

/// A change of one definition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Write {
    /// Type of the definition.
    pub kind: Kind,
    /// Name of the definition, unique within its kind.
    pub key: Vec<u8>,
    /// The new value. `None` removes the definition, if it exists.
    pub value: Option<Vec<u8>>,
}

impl Kind {
    /// Returns the kind with this number.
    pub const fn new(number: u8) -> Kind {
        Kind(number)
    }

    /// Returns the number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the name of the table in the file.
    pub(super) fn table(self) -> String {
        format!("kind {}", self.0)
    }

    /// Returns the kind of a table in the file. `None` if no version of this store creates a table of this name.
    pub(super) fn of_table(name: &str) -> Option<Kind> {
        let kind = Kind(name.strip_prefix("kind ")?.parse().ok()?);
        (kind.table() == name).then_some(kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Write {
    /// Returns the approximate memory of the waiting write, in bytes.
    pub(super) fn cost(&self) -> usize {
        size_of::<Write>() + self.key.len() + self.value.as_ref().map_or(0, Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_table_and_no_other_table_has_a_kind() {
        for number in 0..=255 {
            assert_eq!(Kind::of_table(&Kind::new(number).table()), Some(Kind::new(number)));
        }
        for name in ["", "kind", "kind ", "kind 01", "kind +1", "kind 256", "queues"] {
            assert_eq!(Kind::of_table(name), None, "{name}");
        }
    }
}
