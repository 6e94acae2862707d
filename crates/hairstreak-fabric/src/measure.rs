//! `measure`: a network under traffic, and the figures that all networks share.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::network::Network;
use crate::traffic::{Arrivals, Source, Traffic};

/// Packets that wait at a port. Further ones are refused.
pub const WAITING_MAX: usize = 1_024;

/// For how long a network is measured, in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Slots that pass before anything counts.
    pub warm_up: u64,
    /// Slots that count.
    pub slots: u64,
}

/// The figures of traffic in a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Slots that count.
    pub slots: u64,
    /// Packets that came to the ports.
    pub offered: u64,
    /// Packets that entered the network, port by port in the order of [`Traffic::ports`].
    pub accepted: Vec<u64>,
    /// Packets that were refused because [`WAITING_MAX`] waited at their port.
    pub refused: u64,
    /// From entering to leaving, in slots.
    pub latency: Distribution,
    /// From coming to a port to entering, in slots.
    pub waiting: Distribution,
    /// From leaving to the time when all earlier packets from the same port to the same port had left, in slots. Empty where a network may
    /// lose packets.
    pub resequencing: Distribution,
}

/// Counts of whole numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    counts: Vec<u64>,
    total: u64,
    sum: u64,
}

impl Figures {
    /// Packets that each port sent in a slot, on average.
    pub fn accepted_per_port(&self) -> f64 {
        let accepted = self.accepted.iter().sum::<u64>();
        accepted as f64 / (self.slots * self.accepted.len() as u64) as f64
    }

    /// Packets of each port that left the network in a slot, on average: fewer than it accepts where packets are lost.
    pub fn arrived_per_port(&self) -> f64 {
        self.latency.count() as f64 / (self.slots * self.accepted.len() as u64) as f64
    }

    /// The least and the most of the ports, as parts of the average: how egalitarian the network is.
    pub fn spread(&self) -> (f64, f64) {
        let mean = self.accepted_per_port() * self.slots as f64;
        let part = |count: Option<&u64>| count.map_or(0.0, |count| *count as f64 / mean);
        (part(self.accepted.iter().min()), part(self.accepted.iter().max()))
    }
}

impl Distribution {
    /// Counts a number.
    pub fn add(&mut self, value: u64) {
        let place = value as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
        self.total += 1;
        self.sum += value;
    }

    /// The number of counted values.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Their mean; 0 without any.
    pub fn mean(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.sum as f64 / self.total as f64 }
    }

    /// The least number that is not exceeded by the part `share` (0 to 1) of them; 0 without any.
    pub fn percentile(&self, share: f64) -> u64 {
        let wanted = (share * self.total as f64).ceil() as u64;
        let mut seen = 0;
        let is_enough = |count: &u64| {
            seen += count;
            seen >= wanted
        };
        self.counts.iter().position(is_enough).unwrap_or(0) as u64
    }
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub struct Cargo {
    from: u32,
    number: u64,
    entered_at: u64,
    counts: bool,
}

/// The packets of one port to another that have left in advance of others.
#[derive(Debug, Default)]
struct Flow {
    sent: u64,
    next: u64,
    early: BTreeSet<(u64, u64)>,
}

/// The packets that wait at one port.
struct Waiting<'a> {
    source: Source<'a>,
    packets: VecDeque<(u64, u32)>,
}

/// Lets traffic meet a network that is empty. Packets that came before or after the span do not count.
///
/// ```
/// use hairstreak_fabric::measure::{Span, measure};
/// use hairstreak_fabric::traffic::{Arrivals, Traffic};
/// use hairstreak_fabric::vortex::{Permutation, Shape, Switch};
///
/// let shape = Shape::new(16, 3)?;
/// let traffic = Traffic::uniform(shape.port_count(), Arrivals::Independent { load: 0.1 });
/// let figures = measure(&mut Switch::new(shape, Permutation::Patent), &traffic, Span { warm_up: 100, slots: 1_000 }, 1);
/// assert!((figures.accepted_per_port() - 0.1).abs() < 0.01);
/// assert!(figures.latency.percentile(0.5) >= 5);
/// # Ok::<(), hairstreak_fabric::vortex::ShapeError>(())
/// ```
///
/// # Panics
///
/// A port of the traffic is none of the network's.
pub fn measure(network: &mut impl Network<Cargo>, traffic: &Traffic, span: Span, seed: u64) -> Figures {
    let may_lose = network.may_lose();
    let sources = traffic.sources(seed);
    let mut ports: Vec<_> = sources.map(|source| Waiting { source, packets: VecDeque::new() }).collect();
    let mut flows = HashMap::<(u32, u32), Flow>::new();
    let mut figures = Figures {
        slots: span.slots,
        offered: 0,
        accepted: vec![0; ports.len()],
        refused: 0,
        latency: Distribution::default(),
        waiting: Distribution::default(),
        resequencing: Distribution::default(),
    };
    for slot in 0..span.warm_up + span.slots {
        let counts = slot >= span.warm_up;
        for (Waiting { source, packets }, accepted) in ports.iter_mut().zip(&mut figures.accepted) {
            let is_wanted = traffic.arrivals != Arrivals::Always || packets.is_empty();
            if let Some(to) = is_wanted.then(|| source.draw()).flatten() {
                figures.offered += u64::from(counts);
                if packets.len() < WAITING_MAX {
                    packets.push_back((slot, to));
                } else {
                    figures.refused += u64::from(counts);
                }
            }
            let Some(&(came_at, to)) = packets.front() else { continue };
            let (from, flow) = (source.from(), flows.entry((source.from(), to)).or_default());
            let cargo = Cargo { from, number: flow.sent, entered_at: slot, counts };
            if network.inject(from, to, cargo).is_ok() {
                flow.sent += 1;
                packets.pop_front();
                if counts {
                    *accepted += 1;
                    figures.waiting.add(slot - came_at);
                }
            }
        }
        network.step(|to, cargo| {
            let left_at = slot + 1;
            if cargo.counts {
                figures.latency.add(left_at - cargo.entered_at);
            }
            if may_lose {
                return;
            }
            let flow = flows.entry((cargo.from, to)).or_default();
            flow.early.insert((cargo.number, left_at));
            while let Some((_, since)) =
                flow.early.first().filter(|(number, _)| *number == flow.next).copied()
            {
                flow.early.pop_first();
                flow.next += 1;
                if counts {
                    figures.resequencing.add(left_at - since);
                }
            }
        });
    }
    figures
}
