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
    fn name<'a>(&'a self, key: &'a Self::Key) -> &'a [u8];

    /// The rows of these keys; `None`: the row is gone since the keys were read. Called for a slice at a time, so that a lock is held for a short time only.
    fn rows(&self, keys: &[Self::Key]) -> Vec<Option<Self::Row>>;
}

/// Rows that are there as a whole, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held<R> {
    rows: Vec<R>,
}

/// A row that has a name to be filtered by.
pub(crate) trait Named {
    fn name(&self) -> &[u8];
}

impl<R> Held<R> {
    pub(crate) fn new(rows: Vec<R>) -> Held<R> {
        Held { rows }
    }

    /// Rows in the order of their keys.
    pub(crate) fn sorted_by_key<K: Ord>(mut rows: Vec<R>, key: impl Fn(&R) -> K) -> Held<R> {
        rows.sort_by_cached_key(key);
        Held { rows }
    }
}

impl Held<Value> {
    /// Objects by their virtual hosts and names.
    pub(crate) fn values(rows: Vec<Value>) -> Held<Value> {
        Held::sorted_by_key(rows, |row| [text(row, "vhost").to_owned(), text(row, "name").to_owned()])
    }
}

impl Named for Value {
    fn name(&self) -> &[u8] {
        text(self, "name").as_bytes()
    }
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row.get(key).and_then(Value::as_str).unwrap_or_default()
}

impl<R: Named + Serialize + Clone> Rows for Held<R> {
    type Key = usize;
    type Row = R;

    fn keys(&self) -> Vec<usize> {
        (0..self.rows.len()).collect()
    }

    fn name<'a>(&'a self, key: &'a usize) -> &'a [u8] {
        self.rows.get(*key).map_or(b"", Named::name)
    }

    fn rows(&self, keys: &[usize]) -> Vec<Option<R>> {
        keys.iter().map(|key| self.rows.get(*key).cloned()).collect()
    }
}
