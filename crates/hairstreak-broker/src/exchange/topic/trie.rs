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
//! A key is matched word by word, with all nodes that the words so far lead to: the active nodes. Each word leads from an active
//! node to its child of that word and to its `*`, and a `#` stays active itself. With a node its `#` becomes active too, because
//! `#` also stands for no word. In the end the active nodes' destinations are found. A key costs at most its words times the
//! nodes that match a part of it. The number of patterns does not matter, and no node is visited twice.
//!
//! Nodes are small, and the children by words are one hash table of all nodes: a word costs a few cache lines, however many
//! bindings there are.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::active::{Active, KeyWay, ROOT};
use super::ends::Ends;
use super::nodes::{NONE, Node, NodeId, Nodes};
use super::word::{LongWords, Word, words};
use crate::exchange::binding::{Binding, BindingId};
use crate::exchange::destination::Destination;
use crate::exchange::exchange_type::{ExchangeType, Visit};
use crate::steps::Steps;

/// Number of removed nodes whose numbers are not reused.
const LIMBO_COUNT: usize = 4_096;

/// The bindings of a topic exchange.
#[derive(Debug)]
pub(in crate::exchange) struct Trie {
    nodes: Nodes,
    /// The nodes of words that stand for themselves, by parent and word.
    literals: HashTable<NodeId>,
    hasher: RandomState,
    long_words: LongWords,
    ends: Ends,
    /// The lists of active nodes, kept for the next key.
    active: Active,
    /// Nodes removed last. Their numbers are not reused yet, so that a key that is matched in parts finds no other nodes there.
    limbo: VecDeque<NodeId>,
    /// Number of nodes removed so far.
    removed_count: u64,
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
            active: Active::default(),
            limbo: VecDeque::new(),
            removed_count: 0,
        }
    }
}

impl ExchangeType for Trie {
    fn bind(&mut self, _: BindingId, binding: &Binding) {
        self.add(&binding.key, binding.destination);
    }

    fn unbind(&mut self, _: BindingId, binding: &Binding) {
        self.remove(&binding.key, binding.destination);
    }

    fn route(&mut self, Visit { message, way, steps, found, .. }: Visit<'_>) -> bool {
        for key in message.keys_from(way.key) {
            if steps.are_spent() || !self.find(key, &mut way.words, steps, found) {
                return false;
            }
            way.key += 1;
        }
        true
    }
}

impl Trie {
    /// Adds a destination of a pattern.
    fn add(&mut self, pattern: &[u8], destination: Destination) {
        let node = words(pattern).fold(ROOT, |node, word| match self.child(node, word) {
            NONE => self.add_child(node, word),
            child => child,
        });
        self.ends.add(&mut self.nodes[node].end, destination);
    }

    /// Removes a destination of a pattern, and the nodes that are no longer needed.
    fn remove(&mut self, pattern: &[u8], destination: Destination) {
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

    /// Appends the destinations of all patterns that match a key. Returns whether these are all. If not, the next call continues at
    /// `way`, with the same key. Between calls patterns may come and go.
    fn find(
        &mut self,
        key: &[u8],
        way: &mut KeyWay,
        steps: &mut Steps,
        found: &mut Vec<Destination>,
    ) -> bool {
        let mut active = match way.active.take() {
            // The numbers of nodes that were removed since are not reused yet.
            Some(active) if self.removed_count - way.removed_count <= LIMBO_COUNT as u64 => *active,
            _ => {
                *way = KeyWay::default();
                let mut active = std::mem::take(&mut self.active);
                active.begin(&self.nodes);
                active
            }
        };
        let is_whole = self.go_on(key, way, &mut active, steps, found);
        if is_whole {
            *way = KeyWay::default();
            self.active = active;
        } else {
            way.active = Some(Box::new(active));
            way.removed_count = self.removed_count;
        }
        is_whole
    }

    fn go_on(
        &self,
        key: &[u8],
        way: &mut KeyWay,
        active: &mut Active,
        steps: &mut Steps,
        found: &mut Vec<Destination>,
    ) -> bool {
        for word in words(key).skip(way.word) {
            while let Some(id) = active.now.get(way.index).copied() {
                if steps.are_spent() {
                    return false;
                }
                steps.charge(1);
                way.index += 1;
                self.step(id, word, active);
            }
            active.finish_step();
            (way.word, way.index) = (way.word + 1, 0);
            if active.now.is_empty() {
                return true;
            }
        }
        while let Some(id) = active.now.get(way.index) {
            if steps.are_spent() || !self.ends.find(self.nodes[*id].end, found, &mut way.left, steps) {
                return false;
            }
            steps.charge(1);
            way.index += 1;
        }
        true
    }

    /// Advances from an active node by one word.
    fn step(&self, id: NodeId, word: &[u8], active: &mut Active) {
        let Node { star, literal_count, word: own_word, .. } = self.nodes[id];
        if literal_count > 0 {
            active.add(self.literal(id, word), &self.nodes);
        }
        active.add(star, &self.nodes);
        if matches!(own_word, Word::Hash) {
            active.add(id, &self.nodes);
        }
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
        self.removed_count += 1;
        self.limbo.push_back(id);
        if self.limbo.len() > LIMBO_COUNT
            && let Some(first) = self.limbo.pop_front()
        {
            self.nodes.remove(first);
        }
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

    /// Returns true if a pattern matches a key, by definition.
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
        assert!(trie.find(key.as_bytes(), &mut KeyWay::default(), &mut Steps::unlimited(), &mut found));
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
            prop_assert_eq!((trie.nodes.count() - trie.limbo.len(), trie.literals.len()), (1, 0));
            prop_assert_eq!((trie.long_words.count(), trie.ends.count()), (0, 0));
        }

        #[test]
        fn a_key_that_is_matched_in_parts_finds_what_is_there_all_the_time_and_nothing_that_never_matches(
            stable in prop::collection::vec(pattern(), 0..10),
            changing in prop::collection::vec(pattern(), 1..10),
            key in key(),
            steps_max in 1..4_usize,
        ) {
            let mut trie = Trie::default();
            for (number, pattern) in stable.iter().enumerate() {
                trie.add(pattern.as_bytes(), destination(number));
            }
            let of_changing = |number: usize| destination(100 + number);
            let words_of_key: Vec<&[u8]> = words(key.as_bytes()).collect();
            let is_match = |pattern: &str| matches(&words(pattern.as_bytes()).collect::<Vec<_>>(), &words_of_key);
            let (mut way, mut found, mut round) = (KeyWay::default(), Vec::new(), 0);
            loop {
                let steps = &mut Steps::default();
                steps.begin(steps_max);
                if trie.find(key.as_bytes(), &mut way, steps, &mut found) {
                    break;
                }
                // Patterns come and go, and with them nodes.
                let number = round % changing.len();
                match round / changing.len() % 2 {
                    0 => trie.add(changing[number].as_bytes(), of_changing(number)),
                    _ => trie.remove(changing[number].as_bytes(), of_changing(number)),
                }
                round += 1;
            }
            for (number, pattern) in stable.iter().enumerate() {
                prop_assert_eq!(found.contains(&destination(number)), is_match(pattern), "pattern {:?}", pattern);
            }
            for (number, pattern) in changing.iter().enumerate() {
                prop_assert!(!found.contains(&of_changing(number)) || is_match(pattern), "pattern {:?}", pattern);
            }
        }
    }

    #[test]
    fn a_key_begins_again_if_the_numbers_of_its_nodes_may_be_used_again() {
        let mut trie = Trie::default();
        (0..100).for_each(|number| trie.add(format!("#.{number}").as_bytes(), destination(number)));
        let (mut way, mut found) = (KeyWay::default(), Vec::new());
        let steps = &mut Steps::default();
        steps.begin(2);
        assert!(!trie.find(b"a.b.7", &mut way, steps, &mut found));
        trie.remove(b"#.7", destination(7));
        for number in 0..LIMBO_COUNT {
            let word = format!("w{number}");
            trie.add(word.as_bytes(), destination(1000));
            trie.remove(word.as_bytes(), destination(1000));
        }
        // The node of a removed pattern may belong to another pattern now, which must not be found.
        trie.add(b"x", destination(2000));
        steps.begin(usize::MAX);
        assert!(trie.find(b"a.b.8", &mut KeyWay::default(), steps, &mut found));
        assert_eq!(found, [destination(8)]);
        found.clear();
        assert!(trie.find(b"a.b.7", &mut way, steps, &mut found));
        assert_eq!(found, []);
    }
}
