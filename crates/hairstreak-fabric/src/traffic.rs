//! `Traffic`: the packets that the ports of a network want to send, by seed.
//!
//! Each port has random numbers of its own. So the packets of a port do not depend on the network's treatment of other
//! packets.

use std::ops::Range;

use fastrand::Rng;

/// The destinations of packets.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// To any port.
    Uniform,
    /// From each port to one port: `to[from]`.
    Permutation(Vec<u32>),
    /// The part `share` of the packets to one port, all others to any port.
    HotSpot {
        /// The port.
        port: u32,
        /// From 0 to 1.
        share: f64,
    },
}

/// The arrival times of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Each port always has a packet to send.
    Always,
    /// In each slot with the probability `load`, independent of earlier slots.
    Independent {
        /// Packets in a slot.
        load: f64,
    },
    /// In bursts of `length` packets on average. A burst has a packet in each slot, all to the same port. Pauses between bursts bring the average
    /// to `load` packets in a slot.
    Bursts {
        /// Packets in a slot, below 1.
        load: f64,
        /// Packets of a burst, at least 1.
        length: f64,
    },
}

/// The packets of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// The destinations of the packets.
    pub pattern: Pattern,
    /// The arrival times of the packets.
    pub arrivals: Arrivals,
    /// The range of ports that send and receive, from the first port on. In a Data Vortex, the first ports are those of
    /// one angle.
    pub ports: Range<u32>,
}

/// The packets of one port.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    from: u32,
    packets: Packets<'a>,
}

#[derive(Clone, Debug)]
enum Packets<'a> {
    Drawn(Draw<'a>),
    /// Slots and destinations.
    Recorded(&'a [(u64, u32)]),
}

/// Packets by seed.
#[derive(Clone, Debug)]
struct Draw<'a> {
    traffic: &'a Traffic,
    from: u32,
    rng: Rng,
    /// The destination of the current burst.
    burst: Option<u32>,
}

impl Traffic {
    /// Uniform traffic of all ports.
    pub fn uniform(port_count: u32, arrivals: Arrivals) -> Traffic {
        Traffic { pattern: Pattern::Uniform, arrivals, ports: 0..port_count }
    }

    /// The sources of all ports that send.
    pub fn sources(&self, seed: u64) -> impl Iterator<Item = Source<'_>> {
        let source = move |from: u32| {
            let rng = Rng::with_seed(seed ^ (u64::from(from) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            Source { from, packets: Packets::Drawn(Draw { traffic: self, from, rng, burst: None }) }
        };
        self.ports.clone().map(source)
    }
}

impl<'a> Source<'a> {
    /// The recorded packets of a port: slots, in ascending order, and destinations.
    pub(crate) fn recorded(from: u32, packets: &'a [(u64, u32)]) -> Source<'a> {
        Source { from, packets: Packets::Recorded(packets) }
    }

    /// The port that sends.
    pub fn from(&self) -> u32 {
        self.from
    }

    /// Returns `true` if each call of [`Source::draw`] returns a packet.
    pub fn is_endless(&self) -> bool {
        matches!(&self.packets, Packets::Drawn(draw) if draw.traffic.arrivals == Arrivals::Always)
    }

    /// The destination of the packet that comes in this slot; `None` if no packet comes. Each call has a later slot than the one before.
    pub fn draw(&mut self, slot: u64) -> Option<u32> {
        match &mut self.packets {
            Packets::Drawn(draw) => draw.next(),
            Packets::Recorded(packets) => {
                let (&(at, to), rest) = packets.split_first()?;
                if at > slot {
                    return None;
                }
                *packets = rest;
                Some(to)
            }
        }
    }
}

impl Draw<'_> {
    fn next(&mut self) -> Option<u32> {
        match self.traffic.arrivals {
            Arrivals::Always => Some(self.destination()),
            Arrivals::Independent { load } => (self.rng.f64() < load).then(|| self.destination()),
            Arrivals::Bursts { load, length } => {
                // The pauses make `load` the part of all slots that have a packet.
                let pause = length * (1.0 - load) / load;
                if self.burst.is_none() && self.rng.f64() < 1.0 / (pause + 1.0) {
                    self.burst = Some(self.destination());
                }
                let to = self.burst?;
                if self.rng.f64() < 1.0 / length {
                    self.burst = None;
                }
                Some(to)
            }
        }
    }

    fn destination(&mut self) -> u32 {
        let any = self.traffic.ports.clone();
        match &self.traffic.pattern {
            Pattern::Uniform => self.rng.u32(any),
            Pattern::Permutation(to) => to[self.from as usize],
            Pattern::HotSpot { port, share } => {
                if self.rng.f64() < *share {
                    *port
                } else {
                    self.rng.u32(any)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: usize = 200_000;

    fn packets(arrivals: Arrivals, pattern: Pattern) -> Vec<Option<u32>> {
        let traffic = Traffic { pattern, arrivals, ports: 0..16 };
        let mut source = traffic.sources(7).nth(3).unwrap();
        (0..SLOTS as u64).map(|slot| source.draw(slot)).collect()
    }

    #[test]
    fn loads_are_kept() {
        for arrivals in [Arrivals::Independent { load: 0.3 }, Arrivals::Bursts { load: 0.3, length: 10.0 }] {
            let found = packets(arrivals, Pattern::Uniform);
            let load = found.iter().flatten().count() as f64 / SLOTS as f64;
            assert!((load - 0.3).abs() < 0.02, "{arrivals:?}: {load}");
        }
    }

    #[test]
    fn bursts_have_their_length_and_one_destination() {
        let found = packets(Arrivals::Bursts { load: 0.2, length: 8.0 }, Pattern::Uniform);
        let bursts = found.chunk_by(|one, next| one == next).filter(|burst| burst[0].is_some());
        let (count, size) = bursts.fold((0, 0), |(count, size), burst| (count + 1, size + burst.len()));
        let length = f64::from(size as u32) / f64::from(count);
        // Two bursts to the same port may meet.
        assert!((7.5..9.0).contains(&length), "{length}");
    }

    #[test]
    fn a_hot_spot_has_its_share() {
        let found = packets(Arrivals::Always, Pattern::HotSpot { port: 5, share: 0.25 });
        let share = found.iter().flatten().filter(|to| **to == 5).count() as f64 / SLOTS as f64;
        assert!((share - (0.25 + 0.75 / 16.0)).abs() < 0.01, "{share}");
    }

    #[test]
    fn a_source_depends_on_its_seed_and_port_alone() {
        let traffic = Traffic::uniform(8, Arrivals::Always);
        let draw = |seed, port| {
            let mut source = traffic.sources(seed).nth(port).unwrap();
            (0..20).map(|slot| source.draw(slot)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }
}
