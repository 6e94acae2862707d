//! `Word`: a word of a pattern, and the words of a key.

/// The longest word that lies where the `Word` does.
const SHORT_SIZE: usize = 22;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Short {
        size: u8,
        bytes: [u8; SHORT_SIZE],
    },
    Long(Box<[u8]>),
    /// `*`: any one word.
    Star,
    /// `#`: any number of words.
    Hash,
}

impl Word {
    pub(super) fn new(word: &[u8]) -> Word {
        match word {
            b"*" => Word::Star,
            b"#" => Word::Hash,
            word if word.len() <= SHORT_SIZE => {
                let mut bytes = [0; SHORT_SIZE];
                bytes[..word.len()].copy_from_slice(word);
                Word::Short { size: word.len() as u8, bytes }
            }
            word => Word::Long(word.into()),
        }
    }

    /// The bytes of a word that stands for itself.
    pub(super) fn as_literal(&self) -> Option<&[u8]> {
        match self {
            Word::Short { size, bytes } => Some(&bytes[..usize::from(*size)]),
            Word::Long(word) => Some(word),
            Word::Star | Word::Hash => None,
        }
    }
}

/// The words of a routing key or a pattern. An empty key has none, `a.` has two of which the second is empty.
pub(super) fn words(key: &[u8]) -> impl Iterator<Item = &[u8]> {
    let count = if key.is_empty() { 0 } else { usize::MAX };
    key.split(|byte| *byte == b'.').take(count)
}
