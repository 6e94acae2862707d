//! The bytes by which two processes agree on a segment, before any protocol's.
//!
//! ```text
//!   preamble:  | "hsrings" | version: 1 | ring size, big endian |     and the segment's descriptor with its first byte
//!              0           7            8                       16
//!   answer:    | 0: taken; else the reason why not |
//!              0                                   1
//! ```

use thiserror::Error;

pub(super) const PREAMBLE_SIZE: usize = 16;
/// The answer of a taker that goes on in the rings.
pub(super) const TAKEN: u8 = 0;

const MAGIC: &[u8; 7] = b"hsrings";
const VERSION: u8 = 1;

/// The reason for which a segment is not taken, as in the answer.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// The preamble is of a version that is not known here.
    #[error("the version of the agreement is unknown")]
    Version,
    /// No ring can have that size, or it is more than this listener allows.
    #[error("the rings are too large, or of no possible size")]
    RingSize,
    /// No descriptor came, or it is not of a sealed segment of the size that was announced.
    #[error("no descriptor of a sealed segment of that size came")]
    Descriptor,
    /// The system has no memory to map it.
    #[error("the host has no memory to share")]
    Memory,
}

impl Refusal {
    const ALL: [Refusal; 4] = [Refusal::Version, Refusal::RingSize, Refusal::Descriptor, Refusal::Memory];

    /// Returns the byte of the answer.
    pub(super) fn to_answer(self) -> u8 {
        match self {
            Refusal::Version => 1,
            Refusal::RingSize => 2,
            Refusal::Descriptor => 3,
            Refusal::Memory => 4,
        }
    }

    pub(super) fn of_answer(answer: u8) -> Option<Refusal> {
        Refusal::ALL.into_iter().find(|refusal| refusal.to_answer() == answer)
    }
}

/// Returns the preamble: the bytes that go with the descriptor of a segment.
pub(super) fn encode(ring_size: usize) -> [u8; PREAMBLE_SIZE] {
    let mut bytes = [0; PREAMBLE_SIZE];
    bytes[..7].copy_from_slice(MAGIC);
    bytes[7] = VERSION;
    bytes[8..].copy_from_slice(&(ring_size as u64).to_be_bytes());
    bytes
}

/// Returns `true` if a preamble may begin with these bytes.
pub(super) fn may_begin(bytes: &[u8]) -> bool {
    bytes.iter().zip(MAGIC).all(|(byte, expected)| byte == expected)
}

/// The ring size that a preamble asks for, of at most `ring_size_max` bytes. Its beginning was checked.
pub(super) fn decode(bytes: &[u8; PREAMBLE_SIZE], ring_size_max: usize) -> Result<usize, Refusal> {
    let [.., version, a, b, c, d, e, f, g, h] = *bytes;
    if version != VERSION {
        return Err(Refusal::Version);
    }
    let ring_size = usize::try_from(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
    ring_size.ok().filter(|size| *size <= ring_size_max).ok_or(Refusal::RingSize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preamble_is_read_as_it_was_written() {
        let bytes = encode(4096);
        assert_eq!(&bytes, b"hsrings\x01\0\0\0\0\0\0\x10\0");
        assert!((0..PREAMBLE_SIZE).all(|count| may_begin(&bytes[..count])));
        assert_eq!(decode(&bytes, 4096), Ok(4096));
    }

    #[test]
    fn what_is_no_preamble_or_asks_for_too_much_is_refused() {
        assert!(!may_begin(b"hsRings\x01") && !may_begin(b"G") && may_begin(b""));
        assert_eq!(decode(&encode(4096), 4095), Err(Refusal::RingSize));
        assert_eq!(decode(&encode(usize::MAX), 1 << 20), Err(Refusal::RingSize));
        let mut later = encode(4096);
        later[7] = 2;
        assert_eq!(decode(&later, 4096), Err(Refusal::Version));
    }

    #[test]
    fn each_refusal_has_an_answer_of_its_own() {
        for refusal in Refusal::ALL {
            assert_eq!(Refusal::of_answer(refusal.to_answer()), Some(refusal));
        }
        assert_eq!((Refusal::of_answer(TAKEN), Refusal::of_answer(5)), (None, None));
    }
}
