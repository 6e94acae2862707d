//! `Features`: what stage one finds in a chunk, and the message in which stage two gets it.
//!
//! ```text
//!   number u32 | for each of SCALES: count u32, (hash u32)*count | (occurrences u32, size u8, word)*
//! ```
//! All numbers are big-endian. Hashes and words are distinct and sorted.

use thiserror::Error;

/// The lengths of the shingles, in bytes of normalised text: short ones find edited copies, long ones verbatim copies.
/// Multiples of eight.
pub const SCALES: [usize; 4] = [8, 16, 24, 32];
/// The longest word that is counted as such; longer ones (encoded data) are cut.
pub const WORD_SIZE_MAX: usize = 64;

/// What stage one finds in a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// The chunk's number.
    pub number: u32,
    /// For each scale, the hashes of the shingles that occur.
    pub shingles: [Vec<u32>; SCALES.len()],
    /// Each word that occurs, and how often.
    pub words: Vec<(Vec<u8>, u32)>,
}

/// A message that is no [`Features`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the features end in the middle of the {0}")]
pub struct FeaturesError(&'static str);

impl Features {
    /// The message.
    pub fn encode(&self) -> Vec<u8> {
        let hash_count: usize = self.shingles.iter().map(Vec::len).sum();
        let word_bytes: usize = self.words.iter().map(|(word, _)| 5 + word.len()).sum();
        let mut message = Vec::with_capacity(4 + 4 * SCALES.len() + 4 * hash_count + word_bytes);
        message.extend(self.number.to_be_bytes());
        for hashes in &self.shingles {
            message.extend((hashes.len() as u32).to_be_bytes());
            hashes.iter().for_each(|hash| message.extend(hash.to_be_bytes()));
        }
        for (word, occurrences) in &self.words {
            let word = &word[..word.len().min(WORD_SIZE_MAX)];
            message.extend(occurrences.to_be_bytes());
            message.push(word.len() as u8);
            message.extend(word);
        }
        message
    }

    /// The features that `message` holds.
    pub fn decode(mut message: &[u8]) -> Result<Features, FeaturesError> {
        let rest = &mut message;
        let mut features = Features { number: take_number(rest, "chunk's number")?, ..Features::default() };
        for hashes in &mut features.shingles {
            let count = take_number(rest, "number of shingles")? as usize;
            let bytes = take(rest, count.saturating_mul(4), "shingles")?;
            *hashes = bytes.as_chunks().0.iter().map(|hash| u32::from_be_bytes(*hash)).collect();
        }
        while !rest.is_empty() {
            let occurrences = take_number(rest, "words")?;
            let size = take(rest, 1, "words")?[0];
            features.words.push((take(rest, size.into(), "words")?.to_vec(), occurrences));
        }
        Ok(features)
    }
}

fn take<'a>(rest: &mut &'a [u8], size: usize, what: &'static str) -> Result<&'a [u8], FeaturesError> {
    rest.split_off(..size).ok_or(FeaturesError(what))
}

fn take_number(rest: &mut &[u8], what: &'static str) -> Result<u32, FeaturesError> {
    let bytes = rest.split_off(..4).and_then(|bytes| bytes.first_chunk());
    bytes.map(|bytes| u32::from_be_bytes(*bytes)).ok_or(FeaturesError(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Features {
        let words = vec![(b"a".to_vec(), 3), (b"licence".to_vec(), 1)];
        Features { number: 7, shingles: [vec![1, 2, u32::MAX], vec![], vec![5], vec![]], words }
    }

    #[test]
    fn features_come_back_as_they_were() {
        assert_eq!(Features::decode(&example().encode()), Ok(example()));
        assert_eq!(Features::decode(&Features::default().encode()), Ok(Features::default()));
    }

    #[test]
    fn a_message_cut_short_is_refused() {
        let message = example().encode();
        let whole_words = [message.len(), message.len() - 12, message.len() - 12 - 6];
        for size in 0..message.len() {
            assert_eq!(
                Features::decode(&message[..size]).is_ok(),
                whole_words.contains(&size),
                "{size} bytes"
            );
        }
    }
}
