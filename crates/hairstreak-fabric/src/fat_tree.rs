//! The k-ary n-tree (a fat tree) with credits: `n` levels of switches, each with `k` ports down and `k` ports up, `k^n` hosts.
//!
//! ```text
//!   level 1      [w'] ... [w']      a switch of level l + 1 and one of level l are connected if all digits of their labels but digit l agree
//!                 | \     / |
//!   level 0      [w ] ... [w ]      k hosts each
//! ```
//!
//! A packet goes up to the first switch that has the destination below, and then down. The digits of the destination choose the way up, as in
//! the forwarding tables of a subnet manager. Each input has a FIFO. An input sends its first packet when the output is free and the next
//! FIFO has a credit. So no packet is lost, and a packet that cannot go on holds up all packets behind it.
//!
//! Source: Petrini and Vanneschi, "k-ary n-trees: high performance networks for massively parallel architectures", IPPS 1997. Parameters for
//! FDR InfiniBand are ours: see [`FatTree::fdr`].

use std::collections::VecDeque;

use crate::network::Network;

/// The largest number of hosts.
pub const HOSTS_MAX: u32 = 1 << 20;
/// Packets that an input of [`FatTree::fdr`] has room for, our choice: 16 KiB at 256 bytes a packet.
const FDR_BUFFER: usize = 64;

/// Sizes that no tree can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// A switch connects at least two hosts.
    #[error("{arity} ports down, {levels} levels: 2 ports, 1 level and at most {HOSTS_MAX} hosts are needed")]
    Size {
        /// Ports down of a switch.
        arity: u32,
        /// Levels of switches.
        levels: u32,
    },
    /// A buffer without room lets no packet move.
    #[error("inputs without room for a packet")]
    NoBuffer,
}

/// A fat tree whose packets carry a `T`. A packet moves by one switch in a slot.
///
/// ```
/// use hairstreak_fabric::Network;
/// use hairstreak_fabric::fat_tree::FatTree;
///
/// let mut tree = FatTree::new(4, 3, 8)?;
/// assert_eq!(tree.port_count(), 64);
/// tree.inject(0, 63, "payload").expect("the tree is empty");
/// let mut slots = 0;
/// while tree.packet_count() > 0 {
///     tree.step(|to, payload| assert_eq!((to, payload), (63, "payload")));
///     slots += 1;
/// }
/// assert_eq!(slots, 5, "up through two levels, the top, and down through two");
/// # Ok::<(), hairstreak_fabric::fat_tree::TreeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FatTree<T> {
    arity: u32,
    levels: u32,
    buffer: usize,
    /// Inputs of all switches, level by level. Each switch has its inputs from below first, then its inputs from above.
    inputs: Vec<VecDeque<Packet<T>>>,
    /// The input that each output served last.
    served: Vec<u32>,
    /// Packets in the inputs of each switch, level by level.
    occupied: Vec<u32>,
    packet_count: usize,
    moves: Vec<Move>,
}

#[derive(Clone, Debug)]
struct Packet<T> {
    to: u32,
    payload: T,
}

/// A packet that moves in this slot, from an input to the next one or to its host.
#[derive(Clone, Copy, Debug)]
struct Move {
    from: usize,
    to: Option<usize>,
}

impl<T> FatTree<T> {
    /// A tree of `levels` levels whose switches have `arity` ports down, and room for `buffer` packets at each input.
    ///
    /// # Errors
    ///
    /// [`TreeError`] names the numbers that cannot be.
    pub fn new(arity: u32, levels: u32, buffer: usize) -> Result<FatTree<T>, TreeError> {
        let hosts = arity.checked_pow(levels).filter(|hosts| *hosts <= HOSTS_MAX);
        let Some(hosts) = hosts.filter(|_| arity >= 2 && levels >= 1) else {
            return Err(TreeError::Size { arity, levels });
        };
        if buffer == 0 {
            return Err(TreeError::NoBuffer);
        }
        let input_count = (levels * hosts / arity * 2 * arity) as usize;
        Ok(FatTree {
            arity,
            levels,
            buffer,
            inputs: (0..input_count).map(|_| VecDeque::new()).collect(),
            served: vec![0; input_count],
            occupied: vec![0; input_count / (2 * arity) as usize],
            packet_count: 0,
            moves: Vec::new(),
        })
    }

    /// A tree of 36-port switches, as in FDR InfiniBand: 18 ports down and 18 up. The tree has as many levels as `hosts` need.
    ///
    /// # Errors
    ///
    /// Too many hosts.
    pub fn fdr(hosts: u32) -> Result<FatTree<T>, TreeError> {
        const ARITY: u32 = 18;
        let levels = (1..=5).find(|levels| ARITY.pow(*levels) >= hosts);
        FatTree::new(ARITY, levels.unwrap_or(u32::MAX), FDR_BUFFER)
    }

    fn switches_of_level(&self) -> u32 {
        self.arity.pow(self.levels - 1)
    }

    /// The place of an input among all.
    fn input(&self, level: u32, switch: u32, port: u32) -> usize {
        ((level * self.switches_of_level() + switch) * 2 * self.arity + port) as usize
    }

    /// The output by which a packet leaves a switch: a port down, or one up.
    fn output(&self, level: u32, switch: u32, to: u32) -> u32 {
        let unit = self.arity.pow(level);
        // The label of the destination's leaf switch, and its digits from `level` on.
        let is_below = to / self.arity / unit == switch / unit;
        let digit = to / unit % self.arity;
        if is_below { digit } else { self.arity + digit }
    }

    /// The input at the other end of an output; `None` if a host is there.
    fn next_input(&self, level: u32, switch: u32, output: u32) -> Option<usize> {
        let with_digit = |position: u32, digit: u32| {
            let unit = self.arity.pow(position);
            let own = switch / unit % self.arity;
            (switch - own * unit + digit * unit, own)
        };
        if output >= self.arity {
            let (next, own) = with_digit(level, output - self.arity);
            return Some(self.input(level + 1, next, own));
        }
        let below = level.checked_sub(1)?;
        let (next, own) = with_digit(below, output);
        Some(self.input(below, next, self.arity + own))
    }

    /// Decides which packets of a switch move: each output serves its inputs in turn.
    fn arbitrate(&mut self, level: u32, switch: u32) {
        let (port_count, first) = (2 * self.arity, self.input(level, switch, 0));
        let fifos = &self.inputs[first..first + port_count as usize];
        let wanted = fifos.iter().map(|fifo| Some(self.output(level, switch, fifo.front()?.to)));
        let wanted = wanted.collect::<Vec<_>>();
        let mut outputs = wanted.iter().flatten().copied().collect::<Vec<_>>();
        outputs.sort_unstable();
        outputs.dedup();
        for output in outputs {
            let last = self.served[first + output as usize];
            let mut in_turn = (1..=port_count).map(|offset| (last + offset) % port_count);
            let Some(input) = in_turn.find(|input| wanted[*input as usize] == Some(output)) else { continue };
            let to = self.next_input(level, switch, output);
            if to.is_none_or(|to| self.inputs[to].len() < self.buffer) {
                self.served[first + output as usize] = input;
                self.moves.push(Move { from: first + input as usize, to });
            }
        }
    }
}

impl<T> Network<T> for FatTree<T> {
    fn port_count(&self) -> u32 {
        self.arity.pow(self.levels)
    }

    fn inject(&mut self, from: u32, to: u32, payload: T) -> Result<(), T> {
        let input = self.input(0, from / self.arity, from % self.arity);
        if self.inputs[input].len() >= self.buffer {
            return Err(payload);
        }
        self.inputs[input].push_back(Packet { to, payload });
        self.occupied[input / (2 * self.arity) as usize] += 1;
        self.packet_count += 1;
        Ok(())
    }

    fn step(&mut self, mut arrive: impl FnMut(u32, T)) {
        // All switches decide before any packet of this slot moves.
        let switches = self.switches_of_level();
        for place in 0..self.occupied.len() {
            if self.occupied[place] > 0 {
                self.arbitrate(place as u32 / switches, place as u32 % switches);
            }
        }
        let moves = std::mem::take(&mut self.moves);
        for Move { from, to } in &moves {
            let Some(packet) = self.inputs[*from].pop_front() else { continue };
            let switch_of = |input: usize| input / (2 * self.arity) as usize;
            self.occupied[switch_of(*from)] -= 1;
            match to {
                Some(to) => {
                    self.inputs[*to].push_back(packet);
                    self.occupied[switch_of(*to)] += 1;
                }
                None => {
                    self.packet_count -= 1;
                    arrive(packet.to, packet.payload);
                }
            }
        }
        self.moves = moves;
        self.moves.clear();
    }

    fn packet_count(&self) -> usize {
        self.packet_count
    }
}
