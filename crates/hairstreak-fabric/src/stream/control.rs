//! `Control`: the messages between the two ends of a stream, each in one word of the FIFO.
//!
//! ```text
//!   63   60 59          44 43    38 37        24 23           0
//!   | kind | stream there | chunk  |    size    |    place     |
//! ```

/// The largest size of a chunk, in bytes.
pub(super) const SIZE_MAX: u32 = (1 << 14) - 1;
/// Places wrap around at this number.
pub(super) const PLACE_COUNT: u32 = 1 << 24;

/// A word of one end. `there` is the number that the other end has for the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// A stream to a port is wanted; `here` is the opener's number for it.
    Open { port: u16, here: u16 },
    /// The stream is there; `here` is the acceptor's number for it.
    Accept { there: u16, here: u16 },
    /// The port has no listener, or there are too many streams.
    Refuse { there: u16 },
    /// The sender has bytes and no chunk.
    Want { there: u16 },
    /// The sender may fill the chunk.
    Grant { there: u16, chunk: u8 },
    /// The chunk is being filled: the bytes of this place in the stream.
    Filled { there: u16, chunk: u8, size: u16, place: u32 },
    /// The sender has no more bytes; `place` is the number of filled chunks.
    End { there: u16, place: u32 },
    /// An end, and done.
    Reset { there: u16, place: u32 },
    /// The receiver takes no more bytes: it has all of them, or has given up.
    Done { there: u16 },
}

impl Control {
    pub fn encode(self) -> u64 {
        let word = |kind: u64, stream: u16, chunk: u8, size: u16, place: u32| {
            kind << 60
                | u64::from(stream) << 44
                | u64::from(chunk) << 38
                | u64::from(size) << 24
                | u64::from(place)
        };
        match self {
            Control::Open { port, here } => word(0, port, 0, 0, here.into()),
            Control::Accept { there, here } => word(1, there, 0, 0, here.into()),
            Control::Refuse { there } => word(2, there, 0, 0, 0),
            Control::Want { there } => word(3, there, 0, 0, 0),
            Control::Grant { there, chunk } => word(4, there, chunk, 0, 0),
            Control::Filled { there, chunk, size, place } => word(5, there, chunk, size, place),
            Control::End { there, place } => word(6, there, 0, 0, place),
            Control::Reset { there, place } => word(7, there, 0, 0, place),
            Control::Done { there } => word(8, there, 0, 0, 0),
        }
    }

    /// Decodes a word. `None`: the word has no meaning.
    pub fn decode(word: u64) -> Option<Control> {
        let field = |shift: u32, bits: u32| (word >> shift & ((1 << bits) - 1)) as u32;
        let (there, chunk, size, place) =
            (field(44, 16) as u16, field(38, 6) as u8, field(24, 14) as u16, field(0, 24));
        Some(match field(60, 4) {
            0 => Control::Open { port: there, here: place as u16 },
            1 => Control::Accept { there, here: place as u16 },
            2 => Control::Refuse { there },
            3 => Control::Want { there },
            4 => Control::Grant { there, chunk },
            5 => Control::Filled { there, chunk, size, place },
            6 => Control::End { there, place },
            7 => Control::Reset { there, place },
            8 => Control::Done { there },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_says_what_it_said() {
        for said in [
            Control::Open { port: 5_672, here: 65_535 },
            Control::Accept { there: 1, here: 2 },
            Control::Refuse { there: 3 },
            Control::Want { there: 65_535 },
            Control::Grant { there: 4, chunk: 63 },
            Control::Filled { there: 5, chunk: 62, size: SIZE_MAX as u16, place: PLACE_COUNT - 1 },
            Control::End { there: 6, place: 7 },
            Control::Reset { there: 8, place: 9 },
            Control::Done { there: 10 },
        ] {
            assert_eq!(Control::decode(said.encode()), Some(said));
        }
        assert_eq!(Control::decode(u64::MAX), None);
    }
}
