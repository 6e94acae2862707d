//! `Active`: the nodes that the words of a key so far lead to. `KeyWay`: the progress of the match of a key.

use super::nodes::{NONE, Node, NodeId, Nodes};
use super::word::Word;
use crate::exchange::stamps::Stamps;

pub(super) const ROOT: NodeId = 0;

/// The nodes that the words of a key so far lead to.
#[derive(Debug, Default)]
pub(super) struct Active {
    pub(super) now: Vec<NodeId>,
    /// Active nodes of the next step.
    next: Vec<NodeId>,
    /// The `#` nodes in `next`.
    hashes: Stamps,
}

/// The progress of the match of a key.
#[derive(Debug, Default)]
pub(in crate::exchange) struct KeyWay {
    /// The word that is matched, and the place of the active node.
    pub(super) word: usize,
    pub(super) index: usize,
    /// Destinations of the node that are not appended.
    pub(super) left: Option<usize>,
    /// The active nodes, if the key is matched in parts.
    pub(super) active: Option<Box<Active>>,
    /// Number of nodes that had been removed at that time.
    pub(super) removed_count: u64,
}

impl Active {
    /// The first node is active, with its `#`.
    #[inline]
    pub(super) fn begin(&mut self, nodes: &Nodes) {
        self.next.clear();
        self.hashes.clear();
        self.add(ROOT, nodes);
        self.finish_step();
    }

    /// Makes a node active in the next step, together with its `#`.
    #[inline]
    pub(super) fn add(&mut self, mut id: NodeId, nodes: &Nodes) {
        while id != NONE {
            let Node { hash, word, .. } = nodes[id];
            if matches!(word, Word::Hash) && !self.hashes.add(id) {
                return;
            }
            self.next.push(id);
            id = hash;
        }
    }

    #[inline]
    pub(super) fn finish_step(&mut self) {
        self.now.clear();
        std::mem::swap(&mut self.now, &mut self.next);
        self.hashes.clear();
    }
}
