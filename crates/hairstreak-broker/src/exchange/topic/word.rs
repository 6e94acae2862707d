//! `Word`: a word of a pattern in twelve bytes, and the words of a key.

use slab::Slab;

/// The longest word that lies where the `Word` does.
const SHORT_SIZE: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Short {
        size: u8,
        bytes: [u8; SHORT_SIZE],
    },
    /// The index of a word among the [`LongWords`].
    Long(u32),
    /// `*`: any one word.
    Star,
    /// `#`: any number of words.
    Hash,
}

/// Words that are too long to lie in a `Word`.
#[derive(Debug, Default)]
pub(super) struct LongWords(Slab<Box<[u8]>>);

impl LongWords {
    pub(super) fn add(&mut self, word: &[u8]) -> Word {
        match word {
            b"*" => Word::Star,
            b"#" => Word::Hash,
            word if word.len() <= SHORT_SIZE => {
                let mut bytes = [0; SHORT_SIZE];
                bytes[..word.len()].copy_from_slice(word);
                Word::Short { size: word.len() as u8, bytes }
            }
            word => Word::Long(self.0.insert(word.into()) as u32),
        }
    }

    pub(super) fn remove(&mut self, word: Word) {
        if let Word::Long(index) = word {
            self.0.try_remove(index as usize);
        }
    }

    /// The bytes of a word that stands for itself.
    pub(super) fn literal<'a>(&'a self, word: &'a Word) -> Option<&'a [u8]> {
        match word {
            Word::Short { size, bytes } => Some(&bytes[..usize::from(*size)]),
            Word::Long(index) => self.0.get(*index as usize).map(|word| &**word),
            Word::Star | Word::Hash => None,
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

/// The words of a routing key or a pattern. An empty key has none, `a.` has two of which the second is empty.
pub(super) fn words(key: &[u8]) -> impl Iterator<Item = &[u8]> {
    let count = if key.is_empty() { 0 } else { usize::MAX };
    key.split(|byte| *byte == b'.').take(count)
}
