//! `Nodes`: the nodes of a trie by number. Two nodes are one cache line.

use std::ops::{Index, IndexMut};

use super::ends::End;
use super::word::Word;

/// The number of a node.
pub(super) type NodeId = u32;

/// Stands for a node that is not there.
pub(super) const NONE: NodeId = NodeId::MAX;

/// A word of patterns, behind the words of its parents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) word: Word,
    /// Destinations of the patterns that end here.
    pub(super) end: End,
    pub(super) parent: NodeId,
    pub(super) star: NodeId,
    pub(super) hash: NodeId,
    /// Number of children for literal words.
    pub(super) literal_count: u32,
}

#[derive(Debug)]
#[repr(align(64))]
struct Line([Node; 2]);

const _: () = assert!(size_of::<Line>() == 64, "two nodes are a cache line");

#[derive(Debug, Default)]
pub(super) struct Nodes {
    lines: Vec<Line>,
    /// Largest number of nodes at one time.
    count: u32,
    /// Nodes that are not used.
    free: Vec<NodeId>,
}

impl Node {
    pub(super) fn new(parent: NodeId, word: Word) -> Node {
        Node { word, end: End::NONE, parent, star: NONE, hash: NONE, literal_count: 0 }
    }

    /// Returns true if no pattern ends here or below.
    pub(super) fn is_needless(&self) -> bool {
        self.end == End::NONE && self.literal_count == 0 && self.star == NONE && self.hash == NONE
    }
}

impl Nodes {
    /// Adds a node, beside the one before if that is the first of a line.
    pub(super) fn add(&mut self, node: Node) -> NodeId {
        if let Some(id) = self.free.pop() {
            self[id] = node;
            return id;
        }
        let id = self.count;
        self.count += 1;
        match self.lines.get_mut(id as usize / 2) {
            Some(Line(nodes)) => nodes[1] = node,
            None => self.lines.push(Line([node; 2])),
        }
        id
    }

    pub(super) fn remove(&mut self, id: NodeId) {
        self.free.push(id);
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.count as usize - self.free.len()
    }
}

impl Index<NodeId> for Nodes {
    type Output = Node;

    fn index(&self, id: NodeId) -> &Node {
        &self.lines[id as usize / 2].0[id as usize % 2]
    }
}

impl IndexMut<NodeId> for Nodes {
    fn index_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.lines[id as usize / 2].0[id as usize % 2]
    }
}
