//! `Entry` and `Write`: a stored definition and a change of one.

use std::fmt;

/// The sort of definition that a key names, such as a queue or a user. The caller chooses the numbers once: they are in the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Kind(u8);

/// A definition that is stored.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Entry {
    /// Its kind.
    pub kind: Kind,
    /// Tells it from others of its kind.
    pub key: Vec<u8>,
    /// The caller's bytes.
    pub value: Vec<u8>,
}

/// A change of one definition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Write {
    /// Its kind.
    pub kind: Kind,
    /// Tells it from others of its kind.
    pub key: Vec<u8>,
    /// The new value; none removes the definition, if there is one.
    pub value: Option<Vec<u8>>,
}

impl Kind {
    /// The kind of this number.
    pub const fn new(number: u8) -> Kind {
        Kind(number)
    }

    /// The number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The name of the table in the file.
    pub(super) fn table(self) -> String {
        format!("kind {}", self.0)
    }

    /// The kind of a table in the file, or none if no version of this store makes a table of this name.
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
    /// The memory of the write while it waits, in bytes, about.
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
