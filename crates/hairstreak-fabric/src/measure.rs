//! `measure`: puts traffic on a network, and counts. All networks have the same figures.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::network::Network;
use crate::traffic::Source;

/// The most packets that wait at a port, unless a span has another number.
pub const WAITING_MAX: usize = 1_024;

/// The length of a measurement of a network, in slots, and its detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Slots that pass before anything counts.
    pub warm_up: u64,
    /// Slots that count.
    pub slots: u64,
    /// The most packets that wait at a port. Further packets are refused. With 0, a packet is refused if it finds no room in its slot.
    pub waiting_max: usize,
    /// The order of each flow is followed. This needs memory for each pair of ports.
    pub follows_order: bool,
}

impl Span {
    /// `warm_up` slots that do not count, then `slots` slots that count. Up to [`WAITING_MAX`] packets wait at a port. Order is followed.
    pub const fn new(warm_up: u64, slots: u64) -> Span {
        Span { warm_up, slots, waiting_max: WAITING_MAX, follows_order: true }
    }
}

/// The figures of traffic in a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Slots that count.
    pub slots: u64,
    /// Packets that came to the ports.
    pub offered: u64,
    /// Packets that entered the network, source by source.
    pub accepted: Vec<u64>,
    /// Packets that were refused because [`Span::waiting_max`] waited at their port.
    pub refused: u64,
    /// Slots from entering the network to leaving.
    pub latency: Distribution,
    /// Slots from coming to a port to entering the network.
    pub waiting: Distribution,
    /// Slots from leaving until all earlier packets of the flow (the same source and destination) have left. Empty if the network may lose
    /// packets, or if order is not followed.
    pub resequencing: Distribution,
}

/// A histogram of whole numbers.
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

    /// Packets of each port that left the network in a slot, on average: fewer than the port accepts if the network loses packets.
    pub fn arrived_per_port(&self) -> f64 {
        self.latency.count() as f64 / (self.slots * self.accepted.len() as u64) as f64
    }

    /// The standard deviation of the ports' accepted packets, as a part of the average.
    pub fn deviation(&self) -> f64 {
        let mean = self.accepted_per_port() * self.slots as f64;
        let squares: f64 = self.accepted.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
        (squares / self.accepted.len() as f64).sqrt() / mean
    }

    /// The packets of the ports with the fewest and the most, as parts of the average: how fair the network is.
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

    /// Returns the number of counted values.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The mean of the counted numbers; 0 if there are none.
    pub fn mean(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.sum as f64 / self.total as f64 }
    }

    /// The least number that the part `share` (0 to 1) of the counted numbers does not exceed; 0 if there are none.
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

/// The packets of a flow that have left before earlier packets of the flow.
#[derive(Debug, Default)]
struct Flow {
    sent: u64,
    next: u64,
    early: BTreeSet<(u64, u64)>,
}

/// All flows, by their source and destination.
#[derive(Debug, Default)]
struct Flows(HashMap<(u32, u32), Flow>);

impl Flows {
    /// Returns the number of packets that the flow has sent.
    fn sent(&self, from: u32, to: u32) -> u64 {
        self.0.get(&(from, to)).map_or(0, |flow| flow.sent)
    }

    fn send(&mut self, from: u32, to: u32) {
        self.0.entry((from, to)).or_default().sent += 1;
    }

    /// A packet has left. `follow` is called with the delay of each packet that is in order now.
    fn arrive(&mut self, to: u32, cargo: Cargo, left_at: u64, mut follow: impl FnMut(u64)) {
        let flow = self.0.entry((cargo.from, to)).or_default();
        flow.early.insert((cargo.number, left_at));
        while let Some((number, since)) = flow.early.first().copied()
            && number == flow.next
        {
            flow.early.pop_first();
            flow.next += 1;
            follow(left_at - since);
        }
    }
}

/// The packets that wait at one port: when they came, and where they go.
struct Waiting<'a> {
    source: Source<'a>,
    packets: VecDeque<(u64, u32)>,
}

impl Waiting<'_> {
    /// The next packet of the source comes, if one comes in this slot.
    fn draw(&mut self, slot: u64, counts: bool, figures: &mut Figures) {
        let Some(to) = self.source.draw(slot) else { return };
        figures.offered += u64::from(counts);
        self.packets.push_back((slot, to));
    }

    /// The slot is over: packets beyond `waiting_max` are refused, the last ones first.
    fn refuse(&mut self, waiting_max: usize, counts: bool, figures: &mut Figures) {
        let count = self.packets.len().saturating_sub(waiting_max);
        self.packets.truncate(waiting_max);
        figures.refused += if counts { count as u64 } else { 0 };
    }
}

/// Sends the packets of `sources` through an empty network. Packets that come before or after the counted slots do not count.
///
/// ```
/// use hairstreak_fabric::measure::{Span, measure};
/// use hairstreak_fabric::traffic::{Arrivals, Traffic};
/// use hairstreak_fabric::vortex::{Permutation, Shape, Switch};
///
/// let shape = Shape::new(16, 3)?;
/// let traffic = Traffic::uniform(shape.port_count(), Arrivals::Independent { load: 0.1 });
/// let figures = measure(&mut Switch::new(shape, Permutation::Patent), traffic.sources(1), Span::new(100, 1_000));
/// assert!((figures.accepted_per_port() - 0.1).abs() < 0.01);
/// assert!(figures.latency.percentile(0.5) >= 5);
/// # Ok::<(), hairstreak_fabric::vortex::ShapeError>(())
/// ```
///
/// # Panics
///
/// The network lacks a port of the sources.
pub fn measure<'a>(
    network: &mut impl Network<Cargo>,
    sources: impl Iterator<Item = Source<'a>>,
    span: Span,
) -> Figures {
    let mut ports: Vec<_> = sources.map(|source| Waiting { source, packets: VecDeque::new() }).collect();
    let mut flows = (span.follows_order && !network.may_lose()).then(Flows::default);
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
        for (place, port) in ports.iter_mut().enumerate() {
            let is_endless = port.source.is_endless();
            if !is_endless {
                port.draw(slot, counts, &mut figures);
            }
            for _ in 0..network.lane_count() {
                if is_endless && port.packets.is_empty() {
                    port.draw(slot, counts, &mut figures);
                }
                let Some(&(came_at, to)) = port.packets.front() else { break };
                let from = port.source.from();
                let number = flows.as_ref().map_or(0, |flows| flows.sent(from, to));
                if network.inject(from, to, Cargo { from, number, entered_at: slot, counts }).is_err() {
                    break;
                }
                port.packets.pop_front();
                if let Some(flows) = &mut flows {
                    flows.send(from, to);
                }
                if counts {
                    figures.accepted[place] += 1;
                    figures.waiting.add(slot - came_at);
                }
            }
            port.refuse(span.waiting_max, counts, &mut figures);
        }
        network.step(|to, cargo| {
            let left_at = slot + 1;
            if cargo.counts {
                figures.latency.add(left_at - cargo.entered_at);
            }
            let Some(flows) = &mut flows else { return };
            flows.arrive(to, cargo, left_at, |delay| {
                if counts {
                    figures.resequencing.add(delay);
                }
            });
        });
    }
    figures
}
