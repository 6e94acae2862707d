//! `PatternTable`: each distinct text is compiled once while it is in use.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use hairstreak_broker::pattern::{Pattern, PatternError};
use parking_lot::Mutex;

/// RabbitMQ reads the empty pattern of a permission as this one, which is in no name of an exchange or a queue.
const NONE: &str = "^$";

/// Number of entries at which unused patterns are first searched for and removed. Later sweeps start at twice the number of
/// entries that were in use.
const SWEEP_COUNT_MIN: usize = 64;

/// Compiled patterns by their text. A pattern is dropped with its last user.
#[derive(Debug, Default)]
pub(in crate::access) struct PatternTable {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_text: HashMap<Box<str>, Weak<Pattern>>,
    sweep_at: usize,
}

impl PatternTable {
    /// Returns the pattern of that text; an empty text matches the empty name only. Compilation happens without the lock: two
    /// threads may compile one text, and the first is kept.
    ///
    /// Errors: as [`Pattern::compile`].
    pub fn get(&self, text: &str) -> Result<Arc<Pattern>, PatternError> {
        let text = if text.is_empty() { NONE } else { text };
        if let Some(known) = self.entries.lock().by_text.get(text).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let compiled = Arc::new(Pattern::compile(text)?);
        Ok(self.entries.lock().add(text, compiled))
    }

    /// Returns the pattern of that text. A text that is not a pattern gives one that matches nothing.
    pub fn get_or_never(&self, text: &str) -> Arc<Pattern> {
        self.get(text).unwrap_or_else(|_| Arc::new(Pattern::never()))
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.entries.lock().by_text.len()
    }
}

impl Entries {
    fn add(&mut self, text: &str, compiled: Arc<Pattern>) -> Arc<Pattern> {
        if let Some(known) = self.by_text.get(text).and_then(Weak::upgrade) {
            return known;
        }
        if self.by_text.len() >= self.sweep_at.max(SWEEP_COUNT_MIN) {
            self.by_text.retain(|_, pattern| pattern.strong_count() > 0);
            self.by_text.shrink_to_fit();
            self.sweep_at = 2 * self.by_text.len();
        }
        self.by_text.insert(text.into(), Arc::downgrade(&compiled));
        compiled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_pattern_matches_the_empty_name_only() {
        let table = PatternTable::default();
        let empty = table.get("").unwrap();
        assert!(empty.matches(b"") && !empty.matches(b"a"));
        assert!(Arc::ptr_eq(&empty, &table.get("^$").unwrap()));
    }

    #[test]
    fn equal_patterns_are_compiled_once_and_forgotten_with_their_last_user() {
        let table = PatternTable::default();
        let one = table.get("^(a|b)").unwrap();
        assert!(Arc::ptr_eq(&one, &table.get("^(a|b)").unwrap()));
        for number in 0..10_000 {
            table.get(&format!("^(a|{number})")).unwrap();
        }
        assert!(table.len() <= 64, "{}", table.len());
        assert!(Arc::ptr_eq(&one, &table.get("^(a|b)").unwrap()));
        assert!(table.get("(").is_err());
        assert!(!table.get_or_never("(").matches(b""));
    }
}
