//! The agreement of two peers on a unix socket to continue in shared memory: a property and a command of our own.
//! docs/shared-memory.md has the details.
//!
//! ```text
//! property X-Hairstreak-Shm:  version (1) = 1 | ring size (4, big endian) | number (8, big endian)
//! command  X-SHM:             step (1)
//!
//! GIVEN 1   a segment of the agreed ring size is passed beside the first byte of this command
//! TAKEN 2   the segment is fit; all later data goes through it, both ways
//! NONE  3   there is no segment; all later data goes through the socket
//! ```
//!
//! Without the property of both peers, nothing happens. The ring size is the smaller of the two. The peer with the
//! larger number gives the segment. Binding or connecting does not matter: a relay between two listening or two
//! connecting peers does no harm.

use super::command::{self, Command};
use super::metadata::{self, Properties};

const PROPERTY: &str = SharedTerms::PROPERTY;
/// Name of the command.
const COMMAND: &[u8] = b"X-SHM";
/// Version of this side. A peer with a higher version understands this one, too.
const VERSION: u8 = 1;
const PROPERTY_SIZE: usize = 13;

/// A peer's announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedTerms {
    /// Preferred size of the ring, each way, in bytes.
    pub ring_size: u32,
    /// Random number, drawn for each connection.
    pub number: u64,
}

/// Result of the terms of both peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedDeal {
    /// True if this side gives the segment.
    pub gives: bool,
    /// Size of the ring, each way, in bytes, as the peers propose it: other limits have not been checked.
    pub ring_size: u32,
}

impl SharedTerms {
    /// Name of the property.
    pub const PROPERTY: &str = "X-Hairstreak-Shm";

    /// Returns the terms as a property for READY.
    pub fn to_property(self) -> (String, Vec<u8>) {
        let mut value = vec![VERSION];
        value.extend(self.ring_size.to_be_bytes());
        value.extend(self.number.to_be_bytes());
        (PROPERTY.to_owned(), value)
    }

    /// Returns a peer's terms, if it has any that this version understands.
    pub fn of(properties: &Properties) -> Option<SharedTerms> {
        let value = metadata::find(properties, PROPERTY)?;
        let (&version, rest) = value.split_first()?;
        let (ring_size, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        // A later version may append fields.
        let is_whole = rest.is_empty() || version > VERSION;
        (version >= VERSION && is_whole).then(|| SharedTerms {
            ring_size: u32::from_be_bytes(*ring_size),
            number: u64::from_be_bytes(*number),
        })
    }

    /// Returns the agreement. `None` if both drew the same number.
    pub fn agree(self, theirs: SharedTerms) -> Option<SharedDeal> {
        (self.number != theirs.number).then(|| SharedDeal {
            gives: self.number > theirs.number,
            ring_size: self.ring_size.min(theirs.ring_size),
        })
    }
}

/// A step of the agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SharedStep {
    /// The segment is passed.
    Given = 1,
    /// The segment is fit: continue in shared memory.
    Taken = 2,
    /// Continue through the socket.
    None = 3,
}

impl SharedStep {
    /// Returns the step of a command, if it is one.
    pub fn of(command: &Command<'_>) -> Option<SharedStep> {
        match command {
            Command::Unknown { name: COMMAND, data: [1] } => Some(SharedStep::Given),
            Command::Unknown { name: COMMAND, data: [2] } => Some(SharedStep::Taken),
            Command::Unknown { name: COMMAND, data: [3] } => Some(SharedStep::None),
            _ => None,
        }
    }

    /// Returns the step as a whole frame.
    pub fn to_frame(self) -> Vec<u8> {
        let mut frame = Vec::with_capacity(2 + PROPERTY_SIZE);
        command::encode(&mut frame, COMMAND, &[&[self as u8]]);
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: SharedTerms = SharedTerms { ring_size: 1 << 20, number: 7 };

    #[test]
    fn terms_come_back_as_they_were_sent() {
        let (name, value) = OURS.to_property();
        assert_eq!(value, [1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
        assert_eq!(value.len(), PROPERTY_SIZE);
        assert_eq!(SharedTerms::of(&vec![(name, value)]), Some(OURS));
    }

    #[test]
    fn terms_of_later_versions_may_be_longer_and_malformed_ones_are_none() {
        let of = |value: &[u8]| SharedTerms::of(&vec![(PROPERTY.to_lowercase(), value.to_vec())]);
        let good = OURS.to_property().1;
        for size in 0..PROPERTY_SIZE {
            assert_eq!(of(&good[..size]), None, "{size} bytes");
        }
        let longer = [&good[..], b"more"].concat();
        assert_eq!(of(&longer), None);
        assert_eq!(of(&[&[9], &longer[1..]].concat()), Some(OURS));
        assert_eq!(of(&[&[0], &good[1..]].concat()), None);
        assert_eq!(SharedTerms::of(&Properties::new()), None);
    }

    #[test]
    fn both_sides_come_to_the_same_deal() {
        let theirs = SharedTerms { ring_size: 4096, number: 8 };
        assert_eq!(OURS.agree(theirs), Some(SharedDeal { gives: false, ring_size: 4096 }));
        assert_eq!(theirs.agree(OURS), Some(SharedDeal { gives: true, ring_size: 4096 }));
        assert_eq!(OURS.agree(OURS), None);
    }

    #[test]
    fn steps_are_commands_that_others_skip() {
        for step in [SharedStep::Given, SharedStep::Taken, SharedStep::None] {
            let frame = step.to_frame();
            assert_eq!(frame, [b"\x04\x07\x05X-SHM", &[step as u8][..]].concat());
            let command = command::parse(&frame[2..]).unwrap();
            assert_eq!(SharedStep::of(&command), Some(step));
        }
        for data in [&[][..], &[0], &[4], &[1, 1]] {
            assert_eq!(SharedStep::of(&Command::Unknown { name: COMMAND, data }), None);
        }
    }
}
