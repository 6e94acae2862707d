//! `Deadlines`: keys in the order of their deadlines. Every key is in the queue once.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Deadlines<K> {
    by_key: HashMap<K, Duration>,
    by_time: BTreeSet<(Duration, K)>,
}

impl<K: Ord + Hash + Clone> Deadlines<K> {
    pub(super) fn new() -> Deadlines<K> {
        Deadlines { by_key: HashMap::new(), by_time: BTreeSet::new() }
    }

    /// Adds a key, or moves it.
    pub(super) fn set(&mut self, key: &K, due: Duration) {
        if let Some(before) = self.by_key.insert(key.clone(), due) {
            self.by_time.remove(&(before, key.clone()));
        }
        self.by_time.insert((due, key.clone()));
    }

    pub(super) fn remove(&mut self, key: &K) {
        if let Some(due) = self.by_key.remove(key) {
            self.by_time.remove(&(due, key.clone()));
        }
    }

    /// Returns the first deadline.
    pub(super) fn first(&self) -> Option<Duration> {
        self.by_time.first().map(|(due, _)| *due)
    }

    /// Takes one key that is due.
    pub(super) fn pop_due(&mut self, now: Duration) -> Option<K> {
        if self.first()? > now {
            return None;
        }
        let (_, key) = self.by_time.pop_first()?;
        self.by_key.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_key_is_due_once_at_its_last_time() {
        let mut deadlines = Deadlines::new();
        deadlines.set(&"a", s(1));
        deadlines.set(&"b", s(2));
        deadlines.set(&"a", s(3));
        deadlines.set(&"c", s(2));
        deadlines.remove(&"c");
        assert_eq!(deadlines.first(), Some(s(2)));
        assert_eq!(deadlines.pop_due(s(1)), None);
        assert_eq!(deadlines.pop_due(s(3)), Some("b"));
        assert_eq!(deadlines.pop_due(s(3)), Some("a"));
        assert_eq!((deadlines.pop_due(s(9)), deadlines.first()), (None, None));
    }
}
