//! The bytes of a process's hello to a fabric, and the fabric's answer. Numbers are big endian.
//!
//! ```text
//!   hello:   | "hsvortex" | version: 1 | wish | port | from | rank | zeros |
//!            0            8            9     10     12     16     20      24
//!   answer:  | code | 0 | port | rank | number of ranks | zeros |
//!            0      1   2      4      8                12      16
//! ```
//!
//! An unnamed rank is 2^32 - 1. After an answer with code 0 a connection continues as `shm` does: the connecting
//! process gives the rings.
//! Over the socket of a listener come bytes of value 0, each with the descriptor of a connection, whose rings the fabric gives.

use std::io;

use thiserror::Error;

pub(super) const HELLO_SIZE: usize = 24;
pub(super) const ANSWER_SIZE: usize = 16;

const MAGIC: &[u8; 8] = b"hsvortex";
const VERSION: u8 = 1;
const NO_RANK: u32 = u32::MAX;

/// The wish of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub wish: Wish,
    /// The rank that the process has.
    pub from: Option<u32>,
    /// The rank that is meant.
    pub rank: Option<u32>,
    pub port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// A stream to a port of a rank.
    Connect = 0,
    /// The streams to a port of a rank.
    Listen = 1,
    /// The descriptor of the fabric's clock, with the first byte of the answer.
    Clock = 2,
}

/// The place that the fabric has given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attached {
    pub rank: u32,
    pub port: u16,
}

/// The reason for which a fabric refuses.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FabricRefusal {
    /// The fabric speaks another version.
    #[error("the fabric speaks another version of the agreement")]
    Version,
    /// There is no such rank.
    #[error("the fabric has ranks 0 to {}", .0 - 1)]
    Rank(u32),
    /// Another listener has the port.
    #[error("the port has a listener already")]
    InUse,
    /// The port has no listener.
    #[error("nobody listens there")]
    NoListener,
    /// A card has as many streams, or ports, as it may.
    #[error("the card has no room for another stream")]
    Full,
    /// The fabric is another user's.
    #[error("the fabric belongs to another user")]
    User,
}

impl FabricRefusal {
    pub(super) fn kind(self) -> io::ErrorKind {
        match self {
            FabricRefusal::Version => io::ErrorKind::InvalidData,
            FabricRefusal::Rank(_) => io::ErrorKind::InvalidInput,
            FabricRefusal::InUse => io::ErrorKind::AddrInUse,
            FabricRefusal::NoListener => io::ErrorKind::ConnectionRefused,
            FabricRefusal::Full => io::ErrorKind::OutOfMemory,
            FabricRefusal::User => io::ErrorKind::PermissionDenied,
        }
    }
}

impl Hello {
    pub fn encode(&self) -> [u8; HELLO_SIZE] {
        let mut bytes = [0; HELLO_SIZE];
        bytes[..8].copy_from_slice(MAGIC);
        (bytes[8], bytes[9]) = (VERSION, self.wish as u8);
        bytes[10..12].copy_from_slice(&self.port.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.from.unwrap_or(NO_RANK).to_be_bytes());
        bytes[16..20].copy_from_slice(&self.rank.unwrap_or(NO_RANK).to_be_bytes());
        bytes
    }

    /// `None`: no hello. Another version is refused.
    pub fn decode(bytes: &[u8; HELLO_SIZE]) -> Option<Result<Hello, FabricRefusal>> {
        if !may_begin(bytes) {
            return None;
        }
        let [.., version, wish, port_high, port_low] = *bytes.first_chunk::<12>()?;
        if version != VERSION {
            return Some(Err(FabricRefusal::Version));
        }
        let wish = match wish {
            0 => Wish::Connect,
            1 => Wish::Listen,
            2 => Wish::Clock,
            _ => return None,
        };
        let rank = |at: usize| {
            let rank = u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            (rank != NO_RANK).then_some(rank)
        };
        let port = u16::from_be_bytes([port_high, port_low]);
        Some(Ok(Hello { wish, from: rank(12), rank: rank(16), port }))
    }
}

/// Returns `true` if a hello may begin with these bytes.
pub(super) fn may_begin(bytes: &[u8]) -> bool {
    bytes.iter().zip(MAGIC).all(|(byte, expected)| byte == expected)
}

pub(super) fn encode_answer(answer: Result<Attached, FabricRefusal>) -> [u8; ANSWER_SIZE] {
    let (code, attached, size) = match answer {
        Ok(attached) => (0, attached, 0),
        Err(refusal) => {
            let (code, size) = match refusal {
                FabricRefusal::Version => (1, 0),
                FabricRefusal::Rank(size) => (2, size),
                FabricRefusal::InUse => (3, 0),
                FabricRefusal::NoListener => (4, 0),
                FabricRefusal::Full => (5, 0),
                FabricRefusal::User => (6, 0),
            };
            (code, Attached { rank: 0, port: 0 }, size)
        }
    };
    let mut bytes = [0; ANSWER_SIZE];
    bytes[0] = code;
    bytes[2..4].copy_from_slice(&attached.port.to_be_bytes());
    bytes[4..8].copy_from_slice(&attached.rank.to_be_bytes());
    bytes[8..12].copy_from_slice(&size.to_be_bytes());
    bytes
}

/// `None`: no answer.
pub(super) fn decode_answer(bytes: [u8; ANSWER_SIZE]) -> Option<Result<Attached, FabricRefusal>> {
    let [code, _, p1, p0, r3, r2, r1, r0, s3, s2, s1, s0, ..] = bytes;
    let size = u32::from_be_bytes([s3, s2, s1, s0]);
    Some(match code {
        0 => Ok(Attached { rank: u32::from_be_bytes([r3, r2, r1, r0]), port: u16::from_be_bytes([p1, p0]) }),
        1 => Err(FabricRefusal::Version),
        2 if size > 0 => Err(FabricRefusal::Rank(size)),
        3 => Err(FabricRefusal::InUse),
        4 => Err(FabricRefusal::NoListener),
        5 => Err(FabricRefusal::Full),
        6 => Err(FabricRefusal::User),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hellos_and_answers_are_read_as_they_were_written() {
        for wish in [Wish::Connect, Wish::Listen, Wish::Clock] {
            for (from, rank) in [(None, Some(4_095)), (Some(7), None)] {
                let hello = Hello { wish, from, rank, port: 5_672 };
                assert_eq!(Hello::decode(&hello.encode()), Some(Ok(hello)));
            }
        }
        let attached = Attached { rank: 4_095, port: 65_535 };
        let refusals = [
            FabricRefusal::Version,
            FabricRefusal::Rank(16),
            FabricRefusal::InUse,
            FabricRefusal::NoListener,
            FabricRefusal::Full,
            FabricRefusal::User,
        ];
        for answer in refusals.map(Err).into_iter().chain([Ok(attached)]) {
            assert_eq!(decode_answer(encode_answer(answer)), Some(answer));
        }
    }

    #[test]
    fn other_bytes_are_neither() {
        let hello = Hello { wish: Wish::Listen, from: None, rank: None, port: 1 }.encode();
        let with = |at: usize, byte: u8| {
            let mut bytes = hello;
            bytes[at] = byte;
            Hello::decode(&bytes)
        };
        assert_eq!(with(0, b'H'), None);
        assert_eq!(with(8, 2), Some(Err(FabricRefusal::Version)));
        assert_eq!(with(9, 3), None);
        assert!(may_begin(b"") && may_begin(b"hsv") && !may_begin(b"GET / HT"));
        assert_eq!(decode_answer([7; ANSWER_SIZE]), None);
        // A fabric without ranks cannot be.
        let mut answer = [0; ANSWER_SIZE];
        answer[0] = 2;
        assert_eq!(decode_answer(answer), None);
    }
}
