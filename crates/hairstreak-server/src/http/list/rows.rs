//! `Rows`: the rows of a list, whatever they are of.

use serde::Serialize;
use serde_json::Value;

/// The rows of a list. Keys are small, and say the order of a list that is not sorted otherwise; rows are read when they are shown.
pub(crate) trait Rows {
    type Key: Ord;
    type Row: Serialize;

    /// The keys of all rows, in any order.
    fn keys(&self) -> Vec<Self::Key>;

    /// The name that `name=` filters by.
    fn name<'a>(&self, key: &'a Self::Key) -> &'a [u8];

    /// The rows of these keys; `None`: the row is gone since the keys were read. Called for a slice at a time, so that a lock is held for a short time only.
    fn rows(&self, keys: &[Self::Key]) -> Vec<Option<Self::Row>>;
}

/// Rows that are there as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fixed(Vec<Value>);

/// The virtual host, the name, and the place of a fixed row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FixedKey {
    vhost: String,
    name: String,
    index: usize,
}

impl Fixed {
    pub(crate) fn new(rows: Vec<Value>) -> Fixed {
        Fixed(rows)
    }
}

impl Rows for Fixed {
    type Key = FixedKey;
    type Row = Value;

    fn keys(&self) -> Vec<FixedKey> {
        let text =
            |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let key = |(index, row)| FixedKey { vhost: text(row, "vhost"), name: text(row, "name"), index };
        self.0.iter().enumerate().map(key).collect()
    }

    fn name<'a>(&self, key: &'a FixedKey) -> &'a [u8] {
        key.name.as_bytes()
    }

    fn rows(&self, keys: &[FixedKey]) -> Vec<Option<Value>> {
        keys.iter().map(|key| self.0.get(key.index).cloned()).collect()
    }
}
