//! Groups: all messages of one task travel as one message, so that they are numbered, settled and sent again
//! together.
//!
//! ```text
//! first frame:  for each message of the group, at least one:  its number of frames (4, big endian), at least 1
//! behind it:    the frames of all messages, one message after another
//! ```

const COUNT_SIZE: usize = 4;

/// Encodes the first frame of a group from the number of frames of each message.
pub fn encode_group(frame_counts: impl Iterator<Item = usize>) -> Vec<u8> {
    frame_counts.flat_map(|count| u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes()).collect()
}

/// Returns the number of frames of each message of a group, from its first frame; `behind` is the number of frames
/// that follow. `None` if the frame names no message, or one without a frame, or if the sum differs from `behind`.
pub fn parse_group(first: &[u8], behind: usize) -> Option<impl ExactSizeIterator<Item = usize> + '_> {
    let (counts, rest) = first.as_chunks::<COUNT_SIZE>();
    let counts = counts.iter().map(|count| u32::from_be_bytes(*count) as usize);
    let has_empty = counts.clone().any(|count| count == 0);
    let sum = counts.clone().fold(0, usize::saturating_add);
    (rest.is_empty() && !first.is_empty() && !has_empty && sum == behind).then_some(counts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(first: &[u8], behind: usize) -> Option<Vec<usize>> {
        parse_group(first, behind).map(Iterator::collect)
    }

    #[test]
    fn a_group_says_how_its_frames_are_divided_and_nothing_else_is_one() {
        assert_eq!(encode_group([1, 258].into_iter()), [0, 0, 0, 1, 0, 0, 1, 2]);
        assert_eq!(parse(&[0, 0, 0, 1, 0, 0, 1, 2], 259), Some(vec![1, 258]));
        assert_eq!(parse(&[0, 0, 0, 1], 1), Some(vec![1]));
        assert_eq!(parse(&[], 0), None, "no message");
        assert_eq!(parse(&[0, 0, 0, 0], 0), None, "a message without a frame");
        assert_eq!(parse(&[0, 0, 0, 1, 0, 0, 0, 0], 1), None);
        for behind in [0, 2, 3] {
            assert_eq!(parse(&[0, 0, 0, 1], behind), None, "{behind} frames");
        }
        assert_eq!(parse(&[0, 0, 0, 1, 0], 1), None, "half a number");
        assert_eq!(parse(&[0xff; 16], 3), None);
    }

    proptest! {
        #[test]
        fn groups_come_back_as_they_were_sent(counts in prop::collection::vec(1..2000usize, 1..50)) {
            let first = encode_group(counts.iter().copied());
            prop_assert_eq!(parse(&first, counts.iter().sum()), Some(counts));
        }

        #[test]
        fn what_is_taken_for_a_group_is_its_bytes(first in prop::collection::vec(0..3u8, 0..20), behind in 0..9usize) {
            if let Some(counts) = parse(&first, behind) {
                prop_assert_eq!(counts.iter().sum::<usize>(), behind);
                prop_assert_eq!(encode_group(counts.into_iter()), first);
            }
        }
    }
}
