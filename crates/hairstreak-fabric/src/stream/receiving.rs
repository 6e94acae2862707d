//! `Receiving`: the half of a stream in which this card receives.

use std::collections::{HashMap, VecDeque};

use super::chunks::{CHUNK_BYTES, Chunks, copy_bytes, is_whole};
use super::control::PLACE_COUNT;
use super::sending::WANTS_MAX;
use crate::card::Vic;

/// Bytes that a stream holds and the application has not read, with the chunks that are on their way.
const INCOMING_MAX: usize = 4 * CHUNK_BYTES;

/// The half of a stream in which this card receives.
#[derive(Debug, Default)]
pub(super) struct Receiving {
    incoming: VecDeque<u8>,
    /// Chunks that the other end wants and has not got.
    asked: usize,
    /// The stream is in the list of streams that want a chunk.
    pub is_listed: bool,
    /// Chunks that were granted and whose bytes are not in `incoming`.
    open_chunks: usize,
    /// Announced chunks by place, with their sizes.
    arrived: HashMap<u32, (u8, u16)>,
    /// The place of the next chunk.
    next: u32,
    /// The total number of chunks that the other end has announced. The flag is set if the other end takes no more
    /// bytes.
    end: Option<(u32, bool)>,
    /// The application knows of the end.
    has_read_end: bool,
    /// The application knows that there is something to read.
    is_reader_told: bool,
    /// Bytes are dropped as they come.
    discards: bool,
    /// The other end knows that this end takes no more bytes.
    is_done_said: bool,
}

/// The outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The number of bytes read.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// The other end has ended, and all of its bytes were read.
    End,
    /// The other end has given the stream up, and all of its bytes that were under way were read; or there is no such stream.
    Reset,
}

impl Receiving {
    /// The other end wants a chunk. A sender that keeps to the rules wants at most `WANTS_MAX` at a time.
    pub fn ask(&mut self) {
        self.asked = (self.asked + 1).min(WANTS_MAX);
    }

    /// Returns `true` if a chunk is wanted, and there is room for its bytes.
    pub fn may_grant(&self) -> bool {
        self.asked > 0 && self.incoming.len() + (self.open_chunks + 1) * CHUNK_BYTES <= INCOMING_MAX
    }

    pub fn note_granted(&mut self) {
        self.asked -= 1;
        self.open_chunks += 1;
    }

    /// A granted chunk was announced.
    pub fn announce(&mut self, place: u32, chunk: u8, size: u16) {
        self.arrived.insert(place, (chunk, size));
    }

    /// The other end has ended. Only the first end counts.
    pub fn end(&mut self, place: u32, is_reset: bool) {
        self.end = self.end.or(Some((place, is_reset)));
    }

    /// Drops all bytes, present and future.
    pub fn give_up(&mut self) {
        self.incoming.clear();
        self.discards = true;
    }

    /// Empties the next chunks that are whole. Returns whether the one behind them was announced and is not whole.
    pub fn empty_chunks(&mut self, card: &(impl Vic + ?Sized), chunks: &mut Chunks) -> bool {
        while let Some(&(chunk, size)) = self.arrived.get(&self.next) {
            if !is_whole(card, chunk) {
                return true;
            }
            if !self.discards {
                copy_bytes(card, chunk, size.into(), &mut self.incoming);
            }
            chunks.give_back(chunk);
            self.arrived.remove(&self.next);
            self.open_chunks -= 1;
            self.next = (self.next + 1) % PLACE_COUNT;
        }
        false
    }

    /// Takes bytes for the application.
    pub fn read(&mut self, into: &mut [u8]) -> Found {
        let count = into.len().min(self.incoming.len());
        into.iter_mut().zip(self.incoming.drain(..count)).for_each(|(to, byte)| *to = byte);
        if count > 0 {
            self.is_reader_told = !self.incoming.is_empty();
            return Found::Bytes(count);
        }
        self.is_reader_told = false;
        let Some((_, is_reset)) = self.end.filter(|_| self.is_complete()) else { return Found::Nothing };
        self.has_read_end = true;
        if is_reset { Found::Reset } else { Found::End }
    }

    /// Returns `true`, once for each change, if the application must be told of bytes to read or of the end.
    pub fn tells_reader(&mut self) -> bool {
        let is_at_end = self.is_complete() && !self.has_read_end && !self.discards;
        let tells = (!self.incoming.is_empty() || is_at_end) && !self.is_reader_told;
        self.is_reader_told |= tells;
        tells
    }

    /// Returns `true` when this end stops taking bytes and the other end has to be notified. Later calls return `false`.
    pub fn say_done(&mut self) -> bool {
        let is_done = self.has_read_end || self.discards;
        is_done && !std::mem::replace(&mut self.is_done_said, true)
    }

    /// Returns `true` if no more bytes come, and the other end knows that this end takes none.
    pub fn is_over(&self) -> bool {
        self.is_complete() && self.is_done_said
    }

    /// Returns `true` if the other end has ended, and all of its chunks were emptied.
    fn is_complete(&self) -> bool {
        self.end.is_some_and(|(place, _)| place == self.next)
    }
}
