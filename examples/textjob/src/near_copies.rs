//! What the lines tell: which chunks are near-copies of one another.
//!
//! Compares the minima of the longer shingles of every pair of lines. Not a stage: it needs all lines at once,
//! and its time is no part of any measurement.

use crate::reduce::HASH_COUNT;

/// Chunks with at least this share of equal minima, in percent, count as near-copies.
const ALIKE_PERCENT: usize = 50;
/// How many pairs are told of.
const TOLD_COUNT: usize = 3;

/// Two chunks that are near-copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// How alike, in percent.
    pub percent: usize,
    /// The chunks' numbers.
    pub numbers: (String, String),
    /// Words that are frequent in the first.
    pub words: String,
}

/// How many pairs of near-copies there are among `lines`, and the most alike of them.
pub fn near_copies(lines: &[Vec<u8>]) -> (usize, Vec<Pair>) {
    let fields: Vec<Vec<&[u8]>> =
        lines.iter().map(|line| line.split(|byte| *byte == b' ').collect()).collect();
    let signature = |index: usize| fields[index].last().copied().unwrap_or_default();
    let mut pairs = Vec::new();
    for one in 0..lines.len() {
        for other in one + 1..lines.len() {
            let percent = percent_alike(signature(one), signature(other));
            if percent >= ALIKE_PERCENT {
                pairs.push((percent, one, other));
            }
        }
    }
    pairs.sort_unstable_by_key(|(percent, one, other)| (usize::MAX - percent, *one, *other));
    let text = |index: usize, field: usize| {
        String::from_utf8_lossy(fields[index].get(field).unwrap_or(&&b""[..])).into_owned()
    };
    let told = pairs.iter().take(TOLD_COUNT).map(|&(percent, one, other)| Pair {
        percent,
        numbers: (text(one, 0), text(other, 0)),
        words: text(one, 1),
    });
    (pairs.len(), told.collect())
}

/// The share of equal minima of two signatures, each [`HASH_COUNT`] times eight digits.
fn percent_alike(one: &[u8], other: &[u8]) -> usize {
    let (one, other) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
    one.iter().zip(other).filter(|(a, b)| a == b).count() * 100 / HASH_COUNT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::extract;
    use crate::reduce::reduce;

    fn line(number: u8, words: impl Iterator<Item = u32>) -> Vec<u8> {
        let text: Vec<String> = words.map(|word| format!("word{}", word * word)).collect();
        reduce(&extract(&[&[0, 0, 0, number], text.join(" ").as_bytes()].concat()).unwrap()).unwrap()
    }

    #[test]
    fn copies_are_found_and_strangers_are_not() {
        let lines = [line(1, 0..900), line(2, 5000..5900), line(3, 30..900), line(4, 0..900)];
        let (count, told) = near_copies(&lines);
        assert_eq!(count, 3);
        assert_eq!((told[0].percent, &*told[0].numbers.0, &*told[0].numbers.1), (100, "000001", "000004"));
    }
}
