//! `Label`: the bytes along an edge, inside the value when short.

/// The longest label held inline, in bytes.
const INLINE_SIZE: usize = 14;

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
