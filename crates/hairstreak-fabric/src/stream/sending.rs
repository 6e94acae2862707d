//! `Sending`: the half of a stream in which this card sends.

use std::collections::VecDeque;

use super::chunks::{CHUNK_BYTES, address, counter};
use super::control::PLACE_COUNT;
use crate::card::PutWord;

/// Bytes that a stream holds and has not sent.
const OUTGOING_MAX: usize = 64 * 1024;
/// Chunks that a sender wants at a time.
pub(super) const WANTS_MAX: usize = 4;

/// The half of a stream in which this card sends.
#[derive(Debug)]
pub(super) struct Sending {
    outgoing: VecDeque<u8>,
    /// Chunks that are wanted and not granted.
    wants: usize,
    grants: VecDeque<u8>,
    /// Unsent words of the chunk that is being filled.
    pub filling: VecDeque<PutWord>,
    /// The number of chunks that were announced.
    filled: u32,
    ending: Option<Ending>,
    is_end_said: bool,
    /// The other end takes no more bytes.
    is_receiver_done: bool,
    /// The application knows that there is room.
    is_writer_told: bool,
}

/// The end of this card's half, once all bytes have gone out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The other end may go on sending.
    Close,
    /// This end takes no more bytes.
    Reset,
}

/// A chunk that is announced: its number, its size in bytes, and its place in the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announcement {
    pub chunk: u8,
    pub size: u16,
    pub place: u32,
}

impl Sending {
    pub fn new() -> Sending {
        Sending {
            outgoing: VecDeque::new(),
            wants: 0,
            grants: VecDeque::new(),
            filling: VecDeque::new(),
            filled: 0,
            ending: None,
            is_end_said: false,
            is_receiver_done: false,
            is_writer_told: true,
        }
    }

    /// Takes bytes of the application. Returns their number.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room());
        self.outgoing.extend(&bytes[..count]);
        self.is_writer_told = count == bytes.len() && self.room() > 0;
        count
    }

    pub fn close(&mut self) {
        self.ending = self.ending.or(Some(Ending::Close));
    }

    pub fn abandon(&mut self) {
        self.ending = Some(Ending::Reset);
    }

    /// Abandons the stream, and drops the bytes that have not gone out.
    pub fn reset(&mut self) {
        self.outgoing.clear();
        self.abandon();
    }

    /// The other end takes no more bytes. Returns whether that is news.
    pub fn end_receiver(&mut self) -> bool {
        self.outgoing.clear();
        self.close();
        !std::mem::replace(&mut self.is_receiver_done, true)
    }

    /// Returns the number of bytes that a write would take.
    pub fn room(&self) -> usize {
        if self.ending.is_some() { 0 } else { OUTGOING_MAX - self.outgoing.len() }
    }

    /// The receiver grants a chunk. Returns whether one was wanted.
    pub fn grant(&mut self, chunk: u8) -> bool {
        let is_wanted = self.wants > 0;
        if is_wanted {
            self.wants -= 1;
            self.grants.push_back(chunk);
        }
        is_wanted
    }

    /// Begins to fill the next chunk, if there is one and use for it. A sender that ends gives back a chunk by filling it with nothing.
    pub fn fill_next(&mut self) -> Option<Announcement> {
        if self.outgoing.is_empty() && self.ending.is_none() {
            return None;
        }
        let chunk = self.grants.pop_front()?;
        let size = self.outgoing.len().min(CHUNK_BYTES);
        let bytes: Vec<u8> = self.outgoing.drain(..size).collect();
        let words = bytes.chunks(8).zip(address(chunk)..).map(|(bytes, address)| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            PutWord { address, word: u64::from_le_bytes(word), counter: counter(chunk) }
        });
        self.filling.extend(words);
        let place = self.filled;
        self.filled = (self.filled + 1) % PLACE_COUNT;
        Some(Announcement { chunk, size: size as u16, place })
    }

    /// Returns the number of further chunks that the sender wants now.
    pub fn want_more(&mut self) -> usize {
        let wanted = self.outgoing.len().div_ceil(CHUNK_BYTES).min(WANTS_MAX);
        let count = wanted.saturating_sub(self.wants + self.grants.len());
        self.wants += count;
        count
    }

    /// Returns the end, once: its kind, and the number of chunks. There is no end while a want or a grant is open.
    pub fn say_end(&mut self) -> Option<(Ending, u32)> {
        let is_done = self.outgoing.is_empty() && self.wants == 0 && self.grants.is_empty();
        let ending = self.ending.filter(|_| is_done && !self.is_end_said)?;
        self.is_end_said = true;
        Some((ending, self.filled))
    }

    pub fn is_over(&self) -> bool {
        self.is_end_said && self.is_receiver_done
    }

    /// Returns `true` if an end is still to be sent that also ends the receiving half.
    pub fn will_reset(&self) -> bool {
        self.ending == Some(Ending::Reset) && !self.is_end_said
    }

    /// Returns `true`, once for each change, if the application must be told that there is room again.
    pub fn tells_writer(&mut self) -> bool {
        let tells = !self.is_writer_told && self.room() >= OUTGOING_MAX / 2;
        self.is_writer_told |= tells;
        tells
    }
}
