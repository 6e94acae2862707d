//! `Direction`: the data that one end has sent and the other end has not taken.

use std::collections::VecDeque;

use fastrand::Rng;

use super::Loss;

/// Delays, capacity and faults of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The shortest time that a piece is under way, in ticks.
    pub delay_min: u64,
    /// The longest, in ticks; a piece that waits for the one before it may take longer.
    pub delay_max: u64,
    /// Maximum amount that is sent and not taken: bytes, or messages.
    pub capacity: usize,
    /// Percentage of the pieces of bytes that are torn at a random place. Messages are never torn.
    pub torn_chance: u8,
}

/// Data that a link carries, piece by piece.
pub trait Payload: Sized {
    /// Returns the share of a direction's capacity that the piece takes.
    fn size(&self) -> usize;

    /// The part of the piece that survives if `size` of it do; `None` if nothing does.
    fn prefix(self, size: usize) -> Option<Self>;
}

#[derive(Debug)]
pub(super) struct Direction<P> {
    path: Path,
    /// Each with the time of its arrival, which never descends.
    pieces: VecDeque<(u64, P)>,
    size: usize,
    last_due: u64,
    is_silent: bool,
}

impl<P: Payload> Direction<P> {
    pub(super) fn new(path: Path) -> Direction<P> {
        Direction { path, pieces: VecDeque::new(), size: 0, last_due: 0, is_silent: false }
    }

    pub(super) fn room(&self) -> usize {
        self.path.capacity.saturating_sub(self.size)
    }

    pub(super) fn torn_chance(&self) -> u8 {
        self.path.torn_chance
    }

    /// Returns true if the direction loses all data sent.
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Returns when the piece arrives.
    pub(super) fn push(&mut self, now: u64, rng: &mut Rng, piece: P) -> u64 {
        let due = now + rng.u64(self.path.delay_min..=self.path.delay_max);
        self.last_due = self.last_due.max(due);
        self.size += piece.size();
        self.pieces.push_back((self.last_due, piece));
        self.last_due
    }

    pub(super) fn pop(&mut self, now: u64) -> Option<P> {
        let (_, piece) = self.pieces.pop_front_if(|(due, _)| *due <= now)?;
        self.size -= piece.size();
        Some(piece)
    }

    /// Loses all data sent from now on, and the part of the data under way that `loss` names.
    pub(super) fn silence(&mut self, loss: Loss, rng: &mut Rng) {
        self.is_silent = true;
        let mut left = match loss {
            Loss::All => 0,
            Loss::Tail => rng.usize(0..=self.size),
        };
        for (due, piece) in std::mem::take(&mut self.pieces) {
            if let Some(piece) = piece.prefix(left) {
                left -= piece.size();
                self.pieces.push_back((due, piece));
            }
        }
        self.size = self.pieces.iter().map(|(_, piece)| piece.size()).sum();
    }

    /// Takes nothing more to be sent. Returns when the last piece arrives.
    pub(super) fn end(&mut self) -> u64 {
        self.is_silent = true;
        self.last_due
    }
}
