//! Links that carry a stream of bytes, as TCP does: torn at any place, bounded by a buffer.

use super::{Network, NetworkEvent, Payload};
use crate::simulator::Simulator;

impl Payload for Vec<u8> {
    fn size(&self) -> usize {
        self.len()
    }

    fn prefix(mut self, size: usize) -> Option<Self> {
        self.truncate(size);
        (!self.is_empty()).then_some(self)
    }
}

impl<N: Copy + PartialEq, L> Network<N, L, Vec<u8>> {
    /// Writes the bytes that the stream has room for, in pieces that arrive separately. Returns the number of bytes taken: all,
    /// if the stream is cut or silent.
    pub fn write<E: From<NetworkEvent>>(
        &mut self,
        sim: &mut Simulator<E>,
        link: usize,
        end: usize,
        bytes: &[u8],
    ) -> usize {
        let direction = &self.links[link].directions[end];
        if direction.is_silent() {
            return bytes.len();
        }
        let torn_chance = direction.torn_chance();
        let count = bytes.len().min(direction.room());
        let mut rest = &bytes[..count];
        while !rest.is_empty() {
            let is_torn = sim.chance(torn_chance);
            let size = if is_torn { sim.rng.usize(1..=rest.len()) } else { rest.len() };
            let (piece, behind) = rest.split_at(size);
            self.post(sim, link, end, piece.to_vec());
            rest = behind;
        }
        count
    }

    /// Takes all bytes that have arrived at this end.
    pub fn read<E>(&mut self, sim: &Simulator<E>, link: usize, end: usize) -> Vec<u8> {
        let mut bytes = self.take(sim, link, end).unwrap_or_default();
        while let Some(piece) = self.take(sim, link, end) {
            bytes.extend(piece);
        }
        bytes
    }
}
