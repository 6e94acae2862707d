//! `Node`: one place in the tree, a cache line; and `Label`, the bytes along an edge.

use super::children::Children;
use super::entries::Entries;

/// The longest label held inline, in bytes.
const INLINE_SIZE: usize = 14;

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

/// The bytes along an edge, inside the value when short.
pub(super) enum Label {
    Inline {
        size: u8,
        bytes: [u8; INLINE_SIZE],
    },
    /// Behind a pointer of one word.
    Long(Box<Box<[u8]>>),
}

const _: () = assert!(size_of::<Label>() == 16);

impl Label {
    pub fn new(bytes: &[u8]) -> Label {
        if bytes.len() > INLINE_SIZE {
            return Label::Long(Box::new(bytes.into()));
        }
        let mut inline = [0; INLINE_SIZE];
        inline[..bytes.len()].copy_from_slice(bytes);
        Label::Inline { size: bytes.len() as u8, bytes: inline }
    }

    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Label::Inline { size, bytes } => &bytes[..usize::from(*size)],
            Label::Long(bytes) => bytes,
        }
    }
}
