//! Stage two: from the features of a chunk to its signature, one line.
//!
//! MinHash: of the shingles' images under each of [`HASH_COUNT`] hash functions the smallest is kept. Two texts have
//! the same one with a probability that is the share of shingles they have in common, so the share of equal
//! minima estimates how alike they are. The line also has the most frequent of the longer words.

use crate::features::{Features, FeaturesError};

/// Hash functions per scale, and so numbers in a signature.
pub const HASH_COUNT: usize = 64;
/// Words told of a chunk.
const WORD_COUNT: usize = 5;
/// Shorter words say little about a text.
const WORD_SIZE_MIN: usize = 5;

/// Stage two: the line `number words minima minima ...`, minima for each scale, without its end.
pub fn reduce(features: &[u8]) -> Result<Vec<u8>, FeaturesError> {
    let features = Features::decode(features)?;
    let mut line = format!("{:06} {}", features.number, frequent_words(&features.words)).into_bytes();
    for hashes in &features.shingles {
        line.push(b' ');
        minima(hashes).iter().for_each(|minimum| push_hex(*minimum, &mut line));
    }
    Ok(line)
}

/// For each hash function, the smallest image of any of the hashes.
fn minima(hashes: &[u32]) -> [u32; HASH_COUNT] {
    let mut minima = [u32::MAX; HASH_COUNT];
    for hash in hashes {
        let turned = hash.rotate_left(16);
        for (index, minimum) in (1u32..).zip(&mut minima) {
            let image = (hash ^ index.wrapping_mul(0x85EB_CA6B)).wrapping_mul(0x9E37_79B1) ^ turned;
            *minimum = image.min(*minimum);
        }
    }
    minima
}

/// The most frequent of the longer words, joined by commas; of equally frequent ones the first in order.
fn frequent_words(words: &[(Vec<u8>, u32)]) -> String {
    let mut longer: Vec<&(Vec<u8>, u32)> =
        words.iter().filter(|(word, _)| word.len() >= WORD_SIZE_MIN).collect();
    longer.sort_by_key(|(_, occurrences)| std::cmp::Reverse(*occurrences));
    let told: Vec<_> =
        longer.iter().take(WORD_COUNT).map(|(word, _)| String::from_utf8_lossy(word)).collect();
    if told.is_empty() { "-".to_owned() } else { told.join(",") }
}

fn push_hex(number: u32, line: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    line.extend((0..8).rev().map(|digit| DIGITS[(number >> (4 * digit) & 15) as usize]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of_equal_minima(one: &[u32], other: &[u32]) -> f64 {
        let equal = minima(one).iter().zip(minima(other)).filter(|(a, b)| **a == *b).count();
        equal as f64 / HASH_COUNT as f64
    }

    fn hashes(from: u32, to: u32) -> Vec<u32> {
        (from..to).map(|i| i.wrapping_mul(0x9E37_79B1) ^ i >> 3).collect()
    }

    #[test]
    fn equal_minima_tell_how_much_is_shared() {
        // 1,000 of 3,000 distinct hashes, 1,800 of 2,200, and none are in both.
        for (other, expected) in [((1000, 3000), 0.33), ((200, 2200), 0.82), ((2000, 4000), 0.0)] {
            let share = share_of_equal_minima(&hashes(0, 2000), &hashes(other.0, other.1));
            assert!((share - expected).abs() < 0.15, "{share} instead of {expected}");
        }
    }

    #[test]
    fn a_line_has_number_words_and_the_minima_of_each_scale() {
        let words =
            [("often", 9), ("seldom", 1), ("a", 99), ("again", 9)].map(|(word, count)| (word.into(), count));
        let features =
            Features { number: 42, shingles: [vec![1, 2, 3], vec![], vec![], vec![]], words: words.to_vec() };
        let line = String::from_utf8(reduce(&features.encode()).unwrap()).unwrap();
        let fields: Vec<&str> = line.split(' ').collect();
        assert_eq!(fields[..2], ["000042", "often,again,seldom"]);
        assert_eq!(fields[2..].iter().map(|field| field.len()).collect::<Vec<_>>(), [512; 4]);
        assert!(reduce(b"abc").is_err());
    }
}
