//! `Index`: sorted values under each key. A key without values takes no memory.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// The values under each key, sorted.
#[derive(Debug)]
pub struct Index<K, V>(HashMap<K, BTreeSet<V>>);

impl<K, V> Default for Index<K, V> {
    fn default() -> Index<K, V> {
        Index(HashMap::new())
    }
}

impl<K: Eq + Hash + Clone, V: Ord> Index<K, V> {
    /// Returns the number of values of a key.
    pub fn count(&self, key: &K) -> usize {
        self.0.get(key).map_or(0, BTreeSet::len)
    }

    /// Adds a value to a key.
    pub fn add(&mut self, key: &K, value: V) {
        self.0.entry(key.clone()).or_default().insert(value);
    }

    /// Removes a value of a key.
    pub fn remove(&mut self, key: &K, value: &V) {
        if let Some(values) = self.0.get_mut(key) {
            values.remove(value);
            if values.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// Iterates over the values of a key from `first` on.
    pub fn iter_from<'a>(&'a self, key: &K, first: V) -> impl Iterator<Item = &'a V> + use<'a, K, V> {
        self.0.get(key).into_iter().flat_map(move |values| values.range(&first..))
    }

    /// Returns the first value of a key.
    pub fn first(&self, key: &K) -> Option<&V> {
        self.0.get(key)?.first()
    }

    /// Removes all values of a key and returns them.
    pub fn take(&mut self, key: &K) -> BTreeSet<V> {
        self.0.remove(key).unwrap_or_default()
    }
}
