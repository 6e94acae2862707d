//! `LetterNote`: the description of a refused task, in a frame of its own behind the frames of its message: a dead
//! letter.
//!
//! ```text
//! version (1): 1 | cause (1) | epoch (8) | sequence (8) | deliveries (2) | reason (0 to 255)
//! ```
//!
//! All numbers are big endian. Only a rejected task has a reason, in the receiver's words.

use super::command::REJECTION_SIZE_MAX;
use super::refusals::RefusalCause;
use super::task::TaskId;

/// Version of the encoding.
const VERSION: u8 = 1;
/// Size of the fields before the reason, in bytes.
const HEAD_SIZE: usize = 20;

/// Largest note, in bytes.
pub const LETTER_NOTE_SIZE_MAX: usize = 275;
const _: () = assert!(LETTER_NOTE_SIZE_MAX == HEAD_SIZE + REJECTION_SIZE_MAX);

const REJECTED: u8 = 1;
const TOO_OFTEN: u8 = 2;
const DEADLINE: u8 = 3;

/// Description of a refused task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterNote {
    /// Id of the task.
    pub task: TaskId,
    /// Number of times that the task was sent.
    pub deliveries: u16,
    /// Cause of the refusal.
    pub cause: RefusalCause,
}

impl LetterNote {
    /// Returns the frame's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let (cause, reason) = match &self.cause {
            RefusalCause::Rejected(reason) => (REJECTED, &reason[..reason.len().min(REJECTION_SIZE_MAX)]),
            RefusalCause::DeliveriesMax => (TOO_OFTEN, &[][..]),
            RefusalCause::Deadline => (DEADLINE, &[][..]),
        };
        let mut bytes = vec![VERSION, cause];
        bytes.extend(self.task.epoch.to_be_bytes());
        bytes.extend(self.task.sequence.to_be_bytes());
        bytes.extend(self.deliveries.to_be_bytes());
        bytes.extend(reason);
        bytes
    }

    /// Decodes a frame. `None` if it is not a note.
    pub fn decode(frame: &[u8]) -> Option<LetterNote> {
        let (&[version, cause], rest) = frame.split_first_chunk()?;
        let (epoch, rest) = rest.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        let (deliveries, reason) = rest.split_first_chunk()?;
        let cause = match cause {
            REJECTED if reason.len() <= REJECTION_SIZE_MAX => RefusalCause::Rejected(reason.to_vec()),
            TOO_OFTEN if reason.is_empty() => RefusalCause::DeliveriesMax,
            DEADLINE if reason.is_empty() => RefusalCause::Deadline,
            _ => return None,
        };
        let task = TaskId { epoch: u64::from_be_bytes(*epoch), sequence: u64::from_be_bytes(*sequence) };
        (version == VERSION).then(|| LetterNote { task, deliveries: u16::from_be_bytes(*deliveries), cause })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn note(cause: RefusalCause) -> LetterNote {
        LetterNote { task: TaskId { epoch: 1, sequence: 2 }, deliveries: 3, cause }
    }

    #[test]
    fn a_note_comes_back_as_it_was_written_and_nothing_else_is_one() {
        let rejected = note(RefusalCause::Rejected(b"why".to_vec()));
        let bytes = [&[1, 1][..], &1u64.to_be_bytes(), &2u64.to_be_bytes(), &[0, 3], b"why"].concat();
        assert_eq!(rejected.encode(), bytes);
        assert_eq!(LetterNote::decode(&bytes), Some(rejected));
        let longest = note(RefusalCause::Rejected(vec![b'x'; REJECTION_SIZE_MAX]));
        assert_eq!(longest.encode().len(), LETTER_NOTE_SIZE_MAX);
        assert_eq!(LetterNote::decode(&longest.encode()), Some(longest.clone()));
        assert_eq!(LetterNote::decode(&[&longest.encode()[..], b"x"].concat()), None);
        let given_up = note(RefusalCause::DeliveriesMax).encode();
        for cause in [RefusalCause::DeliveriesMax, RefusalCause::Deadline] {
            assert_eq!(LetterNote::decode(&note(cause.clone()).encode()), Some(note(cause)));
        }
        for size in 0..given_up.len() {
            assert_eq!(LetterNote::decode(&given_up[..size]), None);
        }
        assert_eq!(LetterNote::decode(&[&given_up[..], b"x"].concat()), None, "a reason that there is not");
        for (place, byte) in [(0, 0), (0, 2), (1, 0), (1, 9)] {
            let mut changed = given_up.clone();
            changed[place] = byte;
            assert_eq!(LetterNote::decode(&changed), None);
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_for_a_note_is_its_bytes(bytes in prop::collection::vec(0..4u8, 0..40)) {
            if let Some(note) = LetterNote::decode(&bytes) {
                prop_assert_eq!(note.encode(), bytes);
            }
        }
    }
}
