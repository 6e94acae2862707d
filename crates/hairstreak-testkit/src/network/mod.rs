//! `Network`: links between nodes, each of two directions that are slow, bounded and cut.
//!
//! A link joins two ends, 0 and 1, and is never reused: a node that reconnects makes a new link. Data arrives later and in order,
//! with an event for each piece. Directions carry bytes or whole messages, by the type of [`Payload`].
//!
//! ```text
//!             cut: both directions lose, each open end hears of it later
//! both open ──────────────────────────────────────────────▶ cut ── Over, close ──▶ closed at this end
//!     │ └──── leave: what was sent still arrives, then Over at the other end ────▶ closed at this end
//!     └────── silence: one direction loses, nobody hears of it (half open)
//! ```
//!
//! Invariants: pieces of one direction never overtake each other, but pieces of different directions may. No direction holds more
//! than its capacity. A closed end receives no events. A cut link accepts data and loses it.

mod bytes;
mod direction;
mod event;
mod packets;
#[cfg(test)]
mod tests;

use std::ops::{Index, IndexMut};

use direction::Direction;

use crate::simulator::Simulator;

pub use direction::{Path, Payload};
pub use event::NetworkEvent;
pub use packets::{Full, Packet};

/// Part of the pieces under way that a cut loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of them.
    All,
    /// The pieces behind a random place. The prefix still arrives, until the end learns of the cut.
    Tail,
}

/// One link. `L` is the world's label of the link.
#[derive(Debug)]
pub struct Link<N, L, P> {
    /// The nodes at end 0 and end 1.
    pub ends: [N; 2],
    /// The world's own.
    pub label: L,
    is_open: [bool; 2],
    is_cut: bool,
    /// Until when each end does not read.
    paused_until: [u64; 2],
    /// Data from end 0, and data from end 1.
    directions: [Direction<P>; 2],
}

impl<N, L, P> Link<N, L, P> {
    /// Returns true if both ends are open and the link is not cut. A silent direction does not show.
    pub fn is_up(&self) -> bool {
        self.is_open == [true; 2] && !self.is_cut
    }

    /// Returns true if this end takes the link to be open.
    pub fn is_open(&self, end: usize) -> bool {
        self.is_open[end]
    }
}

/// All links of a world, by their index in the order in which they were connected.
#[derive(Debug)]
pub struct Network<N, L, P> {
    links: Vec<Link<N, L, P>>,
    loss: Loss,
    notice_max: u64,
}

impl<N: Copy + PartialEq, L, P: Payload> Network<N, L, P> {
    /// Creates a network without links. Ends learn of a cut within `notice_max` ticks.
    pub fn new(loss: Loss, notice_max: u64) -> Network<N, L, P> {
        Network { links: Vec::new(), loss, notice_max }
    }

    /// Joins two nodes. `paths`: the path of the data from end 0, then from end 1. Returns the link's index.
    pub fn connect(&mut self, ends: [N; 2], label: L, paths: [Path; 2]) -> usize {
        self.links.push(Link {
            ends,
            label,
            is_open: [true; 2],
            is_cut: false,
            paused_until: [0; 2],
            directions: paths.map(Direction::new),
        });
        self.links.len() - 1
    }

    /// All links, with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Link<N, L, P>)> {
        self.links.iter().enumerate()
    }

    /// Loses all data that this end sends from now on, and some of the data under way. Neither end learns of the loss.
    pub fn silence<E>(&mut self, sim: &mut Simulator<E>, link: usize, end: usize) {
        self.links[link].directions[end].silence(self.loss, &mut sim.rng);
    }

    /// Cuts a link in both directions. Each open end is notified at a time of its own. A link is cut once.
    pub fn cut<E: From<NetworkEvent>>(&mut self, sim: &mut Simulator<E>, link: usize) {
        let found = &mut self.links[link];
        if std::mem::replace(&mut found.is_cut, true) {
            return;
        }
        for end in 0..2 {
            found.directions[end].silence(self.loss, &mut sim.rng);
            if found.is_open[end] {
                sim.within(self.notice_max, NetworkEvent::Over { link, end }.into());
            }
        }
    }

    /// Closes the link at this end, which gives it up or was notified that it is over. This end gets no further events. The other
    /// end is notified as after a cut.
    pub fn close<E: From<NetworkEvent>>(&mut self, sim: &mut Simulator<E>, link: usize, end: usize) {
        self.links[link].is_open[end] = false;
        self.cut(sim, link);
    }

    /// Closes all links of a node that dies.
    pub fn crash<E: From<NetworkEvent>>(&mut self, sim: &mut Simulator<E>, node: N) {
        for (link, end) in self.open_ends(node) {
            self.close(sim, link, end);
        }
    }

    /// Closes all links of a node that ends in good order. The data that the node has sent arrives. Then the other ends are
    /// notified that the links are over.
    pub fn leave<E: From<NetworkEvent>>(&mut self, sim: &mut Simulator<E>, node: N) {
        for (link, end) in self.open_ends(node) {
            let found = &mut self.links[link];
            found.is_open[end] = false;
            if !std::mem::replace(&mut found.is_cut, true) {
                found.directions[1 - end].silence(Loss::All, &mut sim.rng);
                let last_due = found.directions[end].end();
                sim.at(last_due, NetworkEvent::Over { link, end: 1 - end }.into());
            }
        }
    }

    /// Pauses reading at this end until that time. Arriving data waits, and takes its part of the direction's capacity.
    pub fn pause(&mut self, link: usize, end: usize, until: u64) {
        self.links[link].paused_until[end] = until;
    }

    /// Returns true if this end reads the arrived data now. If the end is paused, the arrival comes again when the pause ends.
    pub fn reads_now<E: From<NetworkEvent>>(&self, sim: &mut Simulator<E>, link: usize, end: usize) -> bool {
        let until = self.links[link].paused_until[end];
        let is_paused = until > sim.now();
        if is_paused {
            sim.at(until, NetworkEvent::Arrive { link, end }.into());
        }
        !is_paused
    }

    /// The open ends of a node, as link and end, in the order of the links.
    fn open_ends(&self, node: N) -> Vec<(usize, usize)> {
        let ends = self.iter().flat_map(|(index, link)| {
            (0..2)
                .filter(move |end| link.ends[*end] == node && link.is_open[*end])
                .map(move |end| (index, end))
        });
        ends.collect()
    }

    /// Sends one piece, which is not larger than the room.
    fn post<E: From<NetworkEvent>>(&mut self, sim: &mut Simulator<E>, link: usize, end: usize, piece: P) {
        let due = self.links[link].directions[end].push(sim.now(), &mut sim.rng, piece);
        sim.at(due, NetworkEvent::Arrive { link, end: 1 - end }.into());
    }

    /// The first piece that has arrived at an open end.
    fn take<E>(&mut self, sim: &Simulator<E>, link: usize, end: usize) -> Option<P> {
        let found = &mut self.links[link];
        if found.is_open[end] { found.directions[1 - end].pop(sim.now()) } else { None }
    }
}

impl<N, L, P> Index<usize> for Network<N, L, P> {
    type Output = Link<N, L, P>;

    fn index(&self, link: usize) -> &Link<N, L, P> {
        &self.links[link]
    }
}

impl<N, L, P> IndexMut<usize> for Network<N, L, P> {
    fn index_mut(&mut self, link: usize) -> &mut Link<N, L, P> {
        &mut self.links[link]
    }
}
