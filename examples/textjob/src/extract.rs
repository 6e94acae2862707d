//! Stage one: from a chunk of text to its [`Features`]: which shingles and which words occur in it.
//!
//! A shingle is a run of bytes of the normalised text (lower case, one space for whatever stands between words).
//! Two texts are as alike as their sets of shingles.

use std::collections::HashMap;

use thiserror::Error;

use crate::features::{Features, SCALES};

/// A message that is no chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a chunk of {0} bytes has no number: it begins with four bytes")]
pub struct ChunkError(usize);

/// Stage one: the message that holds the features of `chunk`.
pub fn extract(chunk: &[u8]) -> Result<Vec<u8>, ChunkError> {
    let (number, text) = chunk.split_first_chunk().ok_or(ChunkError(chunk.len()))?;
    let text = normalise(text);
    let shingles = SCALES.map(|size| shingles(&text, size));
    Ok(Features { number: u32::from_be_bytes(*number), shingles, words: words(&text) }.encode())
}

/// Words in lower case with one space behind each.
fn normalise(text: &[u8]) -> Vec<u8> {
    let mut normal = Vec::with_capacity(text.len());
    for byte in text {
        let byte = byte.to_ascii_lowercase();
        if byte.is_ascii_alphanumeric() || !byte.is_ascii() {
            normal.push(byte);
        } else if normal.last().is_some_and(|last| *last != b' ') {
            normal.push(b' ');
        }
    }
    normal
}

/// The distinct hashes of all runs of `size` bytes, sorted.
fn shingles(text: &[u8], size: usize) -> Vec<u32> {
    let mut hashes: Vec<u32> = text.windows(size).map(hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// A multiplicative hash over words of eight bytes; the size of `bytes` is a multiple of eight.
fn hash(bytes: &[u8]) -> u32 {
    let mix = |hash: u64, word: &[u8; 8]| {
        (hash.rotate_left(29) ^ u64::from_be_bytes(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    (bytes.as_chunks().0.iter().fold(0, mix) >> 32) as u32
}

/// The distinct words and how often each occurs, sorted.
fn words(text: &[u8]) -> Vec<(Vec<u8>, u32)> {
    let mut occurrences: HashMap<&[u8], u32> = HashMap::new();
    for word in text.split(|byte| *byte == b' ').filter(|word| !word.is_empty()) {
        *occurrences.entry(word).or_default() += 1;
    }
    let mut words: Vec<(Vec<u8>, u32)> =
        occurrences.into_iter().map(|(word, count)| (word.to_vec(), count)).collect();
    words.sort_unstable();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(text: &str) -> Features {
        let message = extract(&[&[0, 0, 1, 2], text.as_bytes()].concat()).unwrap();
        Features::decode(&message).unwrap()
    }

    #[test]
    fn words_are_counted_whatever_their_case_and_surroundings() {
        let found = features("The  licence; the\n\tLICENCE -- of (the) Grüße!");
        let words: Vec<(&str, u32)> =
            found.words.iter().map(|(word, count)| (std::str::from_utf8(word).unwrap(), *count)).collect();
        assert_eq!(found.number, 258);
        assert_eq!(words, [("grüße", 1), ("licence", 2), ("of", 1), ("the", 3)]);
    }

    #[test]
    fn texts_share_the_shingles_of_what_they_share() {
        let (one, other) = (features("abcdefghijklmnop"), features("abcdefghijklmnoX"));
        assert_eq!(one.shingles.each_ref().map(Vec::len), [9, 1, 0, 0]);
        assert_eq!(one.shingles[0].iter().filter(|hash| other.shingles[0].contains(hash)).count(), 8);
        assert_ne!(one.shingles[1], other.shingles[1]);
    }

    #[test]
    fn a_chunk_without_a_number_is_refused() {
        assert_eq!(extract(b"abc"), Err(ChunkError(3)));
        assert_eq!(features(""), Features { number: 258, ..Features::default() });
    }
}
