//! `Node`: one place in the tree, a cache line.

use super::children::Children;
use super::entries::Entries;
use super::label::Label;

#[repr(align(64))]
pub(super) struct Node {
    /// The bytes between its parent and itself; empty for the root only.
    pub label: Label,
    pub children: Children,
    /// Who subscribed to the prefix that ends here.
    pub entries: Entries,
    pub parent: u32,
}

const _: () = assert!(size_of::<Option<Node>>() == 64);

impl Node {
    pub fn new(label: &[u8], parent: u32) -> Node {
        Node { label: Label::new(label), children: Children::NONE, entries: Entries::None, parent }
    }
}
