//! The messages of a cell and their tally, as tests/python/stream.py has them: the sender draws them by
//! a seed, the receiver need not know it; what both tally must be the same.

use std::fmt::Write;
use std::ops::Range;

use fastrand::Rng;
use hairstreak_socket::Message;

pub const MEBIBYTE: usize = 1 << 20;
/// Sizes around those at which an encoding, a buffer or a path changes; they come first.
const EDGES: [usize; 14] = [0, 1, 30, 31, 254, 255, 256, 257, 8191, 8192, 16_385, 65_535, 65_537, MEBIBYTE];

/// Draws messages, mostly small, up to 1 MiB, one in eight of several frames.
pub struct Stream {
    random: Rng,
    edges: std::slice::Iter<'static, usize>,
    /// What bodies are slices of.
    pattern: Vec<u8>,
}

impl Stream {
    pub fn new(seed: u64) -> Stream {
        let mut random = Rng::with_seed(seed);
        let pattern = std::iter::repeat_with(|| random.u8(..)).take(2 * MEBIBYTE).collect();
        Stream { random, edges: EDGES.iter(), pattern }
    }

    /// The frames of the next message.
    pub fn draw(&mut self) -> Vec<&[u8]> {
        let count = if self.random.u8(..8) == 0 { self.random.usize(2..6) } else { 1 };
        let ranges: Vec<Range<usize>> = (0..count).map(|_| self.draw_body()).collect();
        ranges.into_iter().map(|range| &self.pattern[range]).collect()
    }

    fn draw_body(&mut self) -> Range<usize> {
        let random = &mut self.random;
        let size = match self.edges.next() {
            Some(size) => *size,
            None => match random.u32(..4096) {
                0 => random.usize(..=MEBIBYTE),
                1..16 => random.usize(..65_536),
                16..256 => random.usize(..4096),
                256..512 => 0,
                _ => random.usize(..64),
            },
        };
        let start = random.usize(..MEBIBYTE);
        start..start + size
    }
}

/// What a side has sent or received: counts, and a CRC-32 of all frames with their boundaries.
#[derive(Default)]
pub struct Tally {
    messages: u64,
    frames: u64,
    bytes: u64,
    crc: u32,
}

impl Tally {
    pub fn add<'a>(&mut self, frames: impl ExactSizeIterator<Item = &'a [u8]>) {
        self.messages += 1;
        self.crc = crc32(self.crc, &(frames.len() as u32).to_le_bytes());
        for frame in frames {
            self.frames += 1;
            self.bytes += frame.len() as u64;
            self.crc = crc32(self.crc, &(frame.len() as u32).to_le_bytes());
            self.crc = crc32(self.crc, frame);
        }
    }

    pub fn add_message(&mut self, message: &Message) {
        self.add(message.frames());
    }

    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// As the scripts print it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let Tally { messages, frames, bytes, crc } = self;
        write!(text, "{messages} messages, {frames} frames, {bytes} bytes, crc {crc:08x}").unwrap();
        text
    }
}

/// The CRC-32 of zlib, continued from `crc`.
fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!crc, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let (mut crc, mut bit) = (index as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};
