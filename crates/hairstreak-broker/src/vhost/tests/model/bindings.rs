//! The bindings of the plain model: a list, and patterns that are compared word by word.

use super::plain::Plain;

pub(super) const EXCHANGES: [&str; 3] = ["amq.direct", "amq.fanout", "amq.topic"];
pub(super) const KEYS: [&str; 5] = ["a", "b", "a.b", "a.b.c", "b.a.b"];
pub(super) const PATTERNS: [&str; 9] = ["a", "b", "a.b", "#", "a.#", "#.b", "*.b", "a.*.c", "a.#.c"];

/// Whether the words of a key match those of a pattern.
fn matches(pattern: &[&str], key: &[&str]) -> bool {
    match pattern {
        [] => key.is_empty(),
        ["#", rest @ ..] => (0..=key.len()).any(|count| matches(rest, &key[count..])),
        ["*", rest @ ..] => !key.is_empty() && matches(rest, &key[1..]),
        [word, rest @ ..] => key.first() == Some(word) && matches(rest, &key[1..]),
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split('.').collect()
}

/// Whether a binding with that pattern leads messages with that key.
fn leads(exchange: &str, pattern: &str, key: &str) -> bool {
    match exchange {
        "amq.direct" => pattern == key,
        "amq.fanout" => true,
        _ => matches(&words(pattern), &words(key)),
    }
}

impl Plain {
    /// The queues that a message reaches.
    pub(super) fn route(&self, exchange: &str, key: &'static str) -> Vec<&'static str> {
        if exchange.is_empty() {
            return self.queues.contains_key(key).then_some(key).into_iter().collect();
        }
        let is_bound = |name: &str| {
            let mut bindings =
                self.bindings.iter().filter(|(source, _, queue)| *source == exchange && *queue == name);
            bindings.any(|(_, pattern, _)| leads(exchange, pattern, key))
        };
        self.queues.keys().copied().filter(|name| is_bound(name)).collect()
    }
}
