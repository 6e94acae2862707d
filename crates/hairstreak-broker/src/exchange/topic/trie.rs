//! `Trie`: patterns as a tree of words.
//!
//! ```text
//! patterns:  stock.*.usd   stock.#   #.error
//!
//! root -+- stock -+- * --- usd [q1]
//!       |         +- # [q2]
//!       +- # ----- error [q3]
//! ```
//!
//! A key is matched word by word, with all nodes that the words so far lead to: the active nodes. Each word leads from an
//! active node to its child of that word and to its `*`, and a `#` stays active itself. With a node its `#` becomes
//! active too, because `#` also stands for no word. In the end the active nodes' destinations are found. So a key costs at
//! most its words times the nodes that match a part of it, whatever the patterns, and nothing is visited twice.
//!
//! Nodes are small, and the children by words are one hash table of all nodes: a word costs a few cache lines, however many
//! bindings there are.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::ends::Ends;
use super::nodes::{NONE, Node, NodeId, Nodes};
use super::word::{LongWords, Word, words};
use crate::exchange::destination::Destination;
use crate::exchange::stamps::Stamps;

const ROOT: NodeId = 0;
#[derive(Debug)]
pub(super) struct Trie {
    nodes: Nodes,
    /// The nodes of words that stand for themselves, by parent and word.
    literals: HashTable<NodeId>,
    hasher: RandomState,
    long_words: LongWords,
    ends: Ends,
    /// The active nodes, and those of the next step.
    active: Vec<NodeId>,
    next: Vec<NodeId>,
    /// The `#` nodes among those of the next step.
    active_hashes: Stamps,
}

impl Default for Trie {
    fn default() -> Trie {
        let mut nodes = Nodes::default();
        nodes.add(Node::new(NONE, Word::Star));
        Trie {
            nodes,
            literals: HashTable::new(),
            hasher: RandomState::default(),
            long_words: LongWords::default(),
            ends: Ends::default(),
            active: Vec::new(),
            next: Vec::new(),
            active_hashes: Stamps::default(),
        }
    }
}

impl Trie {
    /// Adds a destination of a pattern.
    pub(super) fn add(&mut self, pattern: &[u8], destination: Destination) {
        let node = words(pattern).fold(ROOT, |node, word| match self.child(node, word) {
            NONE => self.add_child(node, word),
            child => child,
        });
        self.ends.add(&mut self.nodes[node].end, destination);
    }

    /// Removes a destination of a pattern, and the nodes that nothing needs any more.
    pub(super) fn remove(&mut self, pattern: &[u8], destination: Destination) {
        let mut node = ROOT;
        for word in words(pattern) {
            node = self.child(node, word);
            if node == NONE {
                return;
            }
        }
        self.ends.remove(&mut self.nodes[node].end, destination);
        while node != ROOT && self.nodes[node].is_needless() {
            node = self.remove_node(node);
        }
    }

    /// Appends the destinations of all patterns that match a key.
    pub(super) fn find(&mut self, key: &[u8], found: &mut Vec<Destination>) {
        self.active_hashes.clear();
        self.activate(ROOT);
        self.finish_step();
        for word in words(key) {
            self.step(word);
            if self.active.is_empty() {
                return;
            }
        }
        for node in &self.active {
            self.ends.find(self.nodes[*node].end, found);
        }
    }

    /// Goes on by one word.
    fn step(&mut self, word: &[u8]) {
        self.active_hashes.clear();
        for index in 0..self.active.len() {
            let id = self.active[index];
            let Node { star, literal_count, word: own_word, .. } = self.nodes[id];
            if literal_count > 0 {
                self.activate(self.literal(id, word));
            }
            self.activate(star);
            if matches!(own_word, Word::Hash) {
                self.activate(id);
            }
        }
        self.finish_step();
    }

    /// Makes a node active in the next step, together with its `#`.
    fn activate(&mut self, mut id: NodeId) {
        while id != NONE {
            let Node { hash, word, .. } = self.nodes[id];
            if matches!(word, Word::Hash) && !self.active_hashes.add(id) {
                return;
            }
            self.next.push(id);
            id = hash;
        }
    }

    fn finish_step(&mut self) {
        self.active.clear();
        std::mem::swap(&mut self.active, &mut self.next);
    }

    fn child(&self, parent: NodeId, word: &[u8]) -> NodeId {
        let node = &self.nodes[parent];
        match word {
            b"*" => node.star,
            b"#" => node.hash,
            word => self.literal(parent, word),
        }
    }

    /// The child of a word that stands for itself.
    fn literal(&self, parent: NodeId, word: &[u8]) -> NodeId {
        let is_child = |id: &NodeId| {
            let node = &self.nodes[*id];
            node.parent == parent && self.long_words.literal(&node.word) == Some(word)
        };
        self.literals.find(hash(&self.hasher, parent, word), is_child).copied().unwrap_or(NONE)
    }

    fn add_child(&mut self, parent: NodeId, word: &[u8]) -> NodeId {
        let own_word = self.long_words.add(word);
        let id = self.nodes.add(Node::new(parent, own_word));
        let node = &mut self.nodes[parent];
        match own_word {
            Word::Star => node.star = id,
            Word::Hash => node.hash = id,
            Word::Short { .. } | Word::Long(_) => {
                node.literal_count += 1;
                let (nodes, long_words, hasher) = (&self.nodes, &self.long_words, &self.hasher);
                self.literals.insert_unique(hash(hasher, parent, word), id, |id| {
                    let node = &nodes[*id];
                    hash(hasher, node.parent, long_words.literal(&node.word).unwrap_or_default())
                });
            }
        }
        id
    }

    /// Takes out a node without children, and returns its parent.
    fn remove_node(&mut self, id: NodeId) -> NodeId {
        let Node { parent, word, .. } = self.nodes[id];
        let node = &mut self.nodes[parent];
        match word {
            Word::Star => node.star = NONE,
            Word::Hash => node.hash = NONE,
            Word::Short { .. } | Word::Long(_) => {
                node.literal_count -= 1;
                let literal = self.long_words.literal(&word).unwrap_or_default();
                let entry =
                    self.literals.find_entry(hash(&self.hasher, parent, literal), |other| *other == id);
                if let Ok(entry) = entry {
                    entry.remove();
                }
            }
        }
        self.long_words.remove(word);
        self.nodes.remove(id);
        parent
    }
}

fn hash(hasher: &RandomState, parent: NodeId, word: &[u8]) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write_u32(parent);
    hasher.write(word);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::queue::QueueId;

    /// Whether a pattern matches a key, by definition.
    fn matches(pattern: &[&[u8]], key: &[&[u8]]) -> bool {
        match (pattern, key) {
            ([], key) => key.is_empty(),
            ([b"#", rest @ ..], key) => (0..=key.len()).any(|count| matches(rest, &key[count..])),
            ([b"*", rest @ ..], [_, key @ ..]) => matches(rest, key),
            ([word, rest @ ..], [first, key @ ..]) => word == first && matches(rest, key),
            (_, []) => false,
        }
    }

    fn destination(number: usize) -> Destination {
        Destination::Queue(QueueId(number as u32))
    }

    fn find(trie: &mut Trie, key: &str) -> Vec<Destination> {
        let mut found = Vec::new();
        trie.find(key.as_bytes(), &mut found);
        found.sort();
        found
    }

    fn check(pattern: &str, key: &str, is_match: bool) {
        let mut trie = Trie::default();
        trie.add(pattern.as_bytes(), destination(1));
        assert_eq!(!find(&mut trie, key).is_empty(), is_match, "{pattern} and {key}");
    }

    #[test]
    fn wildcards_stand_for_whole_words() {
        check("a.*.c", "a.b.c", true);
        check("a.*.c", "a.c", false);
        check("a.*.c", "a.b.b.c", false);
        check("a.#.c", "a.c", true);
        check("a.#.c", "a.b.b.c", true);
        check("a*", "ab", false);
        check("#", "", true);
        check("#.#.a.#", "a", true);
    }

    #[test]
    fn an_empty_key_has_no_word_and_an_end_behind_a_dot_is_a_word() {
        check("*", "", false);
        check("", "", true);
        check("a.*", "a.", true);
        check("*.*", ".", true);
        check("a", "a.", false);
    }

    #[test]
    fn wildcards_in_a_routing_key_stand_for_themselves() {
        check("a", "*", false);
        check("a", "#", false);
        check("*", "#", true);
    }

    #[test]
    fn words_of_any_size_are_found() {
        let long = "w".repeat(200);
        check(&format!("{long}.b"), &format!("{long}.b"), true);
        check(&format!("{long}.b"), &format!("{}v.b", &long[1..]), false);
        for size in [9, 10, 11, 12] {
            check(&"w".repeat(size), &"w".repeat(size), true);
            check(&"w".repeat(size), &"w".repeat(size + 1), false);
        }
    }

    #[test]
    fn a_pattern_of_many_wildcards_ends() {
        let mut trie = Trie::default();
        trie.add(format!("{}z", "#.a.".repeat(60)).as_bytes(), destination(1));
        assert_eq!(find(&mut trie, &"a.".repeat(127)), []);
    }

    fn pattern() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "a long word", "", "*", "#"]), 0..6)
            .prop_map(|words| words.join("."))
    }

    fn key() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "a long word", "c", ""]), 0..6)
            .prop_map(|words| words.join("."))
    }

    proptest! {
        #[test]
        fn patterns_match_what_their_definition_says_and_leave_nothing_behind(
            patterns in prop::collection::vec((pattern(), 0..4_usize), 0..20),
            removed in 0..20_usize,
            keys in prop::collection::vec(key(), 1..10),
        ) {
            let mut trie = Trie::default();
            for (pattern, number) in &patterns {
                trie.add(pattern.as_bytes(), destination(*number));
            }
            let (gone, left) = patterns.split_at(removed.min(patterns.len()));
            for (pattern, number) in gone {
                trie.remove(pattern.as_bytes(), destination(*number));
            }
            for key in &keys {
                let words_of_key: Vec<&[u8]> = words(key.as_bytes()).collect();
                let mut expected: Vec<Destination> = left
                    .iter()
                    .filter(|(pattern, _)| {
                        matches(&words(pattern.as_bytes()).collect::<Vec<_>>(), &words_of_key)
                    })
                    .map(|(_, number)| destination(*number))
                    .collect();
                expected.sort();
                expected.dedup();
                let mut found = find(&mut trie, key);
                found.dedup();
                prop_assert_eq!(found, expected, "key {:?}", key);
            }
            for (pattern, number) in left {
                trie.remove(pattern.as_bytes(), destination(*number));
            }
            prop_assert_eq!((trie.nodes.count(), trie.literals.len()), (1, 0));
            prop_assert_eq!((trie.long_words.count(), trie.ends.count()), (0, 0));
        }
    }
}
