//! `Network`: links between nodes, each of two directions that are slow, bounded and cut.
//!
//! A link joins two ends, 0 and 1, and is never reused: a node that reconnects makes a new link. What an end sends arrives
//! in order, later, and as an event for each piece. Directions carry bytes or whole messages, by the type of [`Payload`].
//!
//! ```text
//!             cut: both directions lose, each open end hears of it later
//! both open ──────────────────────────────────────────────▶ cut ── Over, close ──▶ closed at this end
//!     │ └──── leave: what was sent still arrives, then Over at the other end ────▶ closed at this end
//!     └────── silence: one direction loses, nobody hears of it (half open)
//! ```
//!
//! Invariants: pieces of one direction never overtake each other, those of different directions may; no direction holds
//! more than its capacity; an end that is closed is told nothing; what is sent on a link that is cut is taken and lost.

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

/// What a cut takes of the pieces that are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of them.
    All,
    /// Those behind a random place: a prefix still arrives, as far as the end has not heard of the cut.
    Tail,
}

/// One link. `L` is what the world knows of the link.
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
    /// What end 0 sends, and end 1.
    directions: [Direction<P>; 2],
}

impl<N, L, P> Link<N, L, P> {
    /// Whether both ends are open and nothing is cut. A silent direction does not show.
    pub fn is_up(&self) -> bool {
        self.is_open == [true; 2] && !self.is_cut
    }

    /// Whether this end takes the link to be open.
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
    /// A network without links, whose ends hear of a cut within `notice_max` ticks.
    pub fn new(loss: Loss, notice_max: u64) -> Network<N, L, P> {
        Network { links: Vec::new(), loss, notice_max }
    }

    /// Joins two nodes. `paths`: how what end 0 sends travels, and what end 1 sends. Returns the link's index.
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

    /// What this end sends from now on is lost, and some of what is under way; neither end hears of it.
    pub fn silence<E>(&mut self, sim: &mut Simulator<E>, link: usize, end: usize) {
        self.links[link].directions[end].silence(self.loss, &mut sim.rng);
    }

    /// Cuts a link in both directions: each open end hears of it, at a time of its own. A link is cut once.
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

    /// This end gives the link up, or has heard that the link is over: the end is told nothing more. The other end hears
    /// of it as of a cut.
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

    /// Closes all links of a node that ends in good order: what the node has sent arrives, and then the other ends hear
    /// that the links are over.
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

    /// Lets this end read nothing until then: what arrives waits, and takes its part of the direction's capacity.
    pub fn pause(&mut self, link: usize, end: usize, until: u64) {
        self.links[link].paused_until[end] = until;
    }

    /// Whether this end reads what has arrived now. If the end is paused, the arrival comes again when the pause ends.
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
