//! `Node`: one place in the tree.

use super::entries::Entries;
use super::label::Label;

pub(super) struct Node {
    /// The bytes between its parent and itself; empty for the root only.
    pub label: Label,
    pub parent: u32,
    /// The first byte of each child's label, and the child; sorted.
    pub children: Vec<(u8, u32)>,
    /// Who subscribed to the prefix that ends here.
    pub entries: Entries,
}

impl Node {
    pub fn new(label: &[u8], parent: u32) -> Node {
        Node { label: Label::new(label), parent, children: Vec::new(), entries: Entries::None }
    }

    #[inline]
    pub fn child(&self, first: u8) -> Option<u32> {
        let at = self.children.binary_search_by_key(&first, |child| child.0).ok()?;
        Some(self.children[at].1)
    }

    /// Sets the child whose label begins with `first`.
    pub fn set_child(&mut self, first: u8, child: u32) {
        match self.children.binary_search_by_key(&first, |child| child.0) {
            Ok(at) => self.children[at].1 = child,
            Err(at) => self.children.insert(at, (first, child)),
        }
    }

    pub fn remove_child(&mut self, first: u8) {
        self.children.retain(|child| child.0 != first);
    }
}
