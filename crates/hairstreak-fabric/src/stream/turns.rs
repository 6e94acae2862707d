//! `Turns`: streams that want a chunk. Their cards take turns, and so do the streams of a card.

use std::collections::{HashMap, VecDeque};

/// Streams in turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Cards with streams in the table, each once.
    peers: VecDeque<u32>,
    streams: HashMap<u32, VecDeque<u16>>,
}

impl Turns {
    pub fn add(&mut self, peer: u32, stream: u16) {
        let streams = self.streams.entry(peer).or_default();
        if streams.is_empty() {
            self.peers.push_back(peer);
        }
        streams.push_back(stream);
    }

    /// The next stream of a card that may have a turn. Looks at each card once at most.
    pub fn next(&mut self, may: impl Fn(u32) -> bool) -> Option<u16> {
        for _ in 0..self.peers.len() {
            let peer = self.peers.pop_front()?;
            let streams = self.streams.get_mut(&peer)?;
            let next = if may(peer) { streams.pop_front() } else { None };
            if streams.is_empty() {
                self.streams.remove(&peer);
            } else {
                self.peers.push_back(peer);
            }
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// The streams of a card are gone.
    pub fn forget(&mut self, peer: u32) {
        if self.streams.remove(&peer).is_some() {
            self.peers.retain(|other| *other != peer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_take_turns_and_so_do_their_streams() {
        let mut turns = Turns::default();
        [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30)]
            .into_iter()
            .for_each(|(peer, stream)| turns.add(peer, stream));
        let order: Vec<_> = std::iter::from_fn(|| turns.next(|_| true)).collect();
        assert_eq!(order, [10, 20, 30, 11, 12]);
        [(1, 10), (2, 20), (1, 11)].into_iter().for_each(|(peer, stream)| turns.add(peer, stream));
        assert_eq!(turns.next(|peer| peer != 1), Some(20));
        assert_eq!(turns.next(|peer| peer != 1), None);
        turns.forget(1);
        assert_eq!(turns.next(|_| true), None);
    }
}
