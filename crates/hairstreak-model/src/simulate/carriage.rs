//! `Carriage`: the messages on their way through a fabric, cut into packets, slot by slot.
//!
//! Each port sends its messages in order. In a slot it sends one packet into each of the networks side by side; a packet without
//! room waits. A message has arrived when all its packets have. While no packet is on its way, no slot passes.

use std::collections::VecDeque;

use hairstreak_fabric::fat_tree::FatTree;
use hairstreak_fabric::vortex::{Permutation, Switch};
use hairstreak_fabric::{Network, Parallel};

use crate::network::{Fabric, FabricKind};

/// A server and a number: the message for that server, or results acknowledged to the source. The carriage does not read it.
pub(super) type Parcel = (usize, u64);

pub(super) struct Carriage {
    network: Switches,
    slot_ns: u64,
    lane_count: u32,
    next_slot_at: u64,
    ports: Vec<Port>,
    /// The ports that have packets to send.
    active: Vec<usize>,
    flights: Vec<Flight>,
    free: Vec<usize>,
    /// The number of slots in which the busiest port had packets to send.
    busiest_slots: u64,
}

enum Switches {
    Vortex(Parallel<Switch<usize>>),
    Tree(FatTree<usize>),
}

#[derive(Default)]
struct Port {
    outgoing: VecDeque<Outgoing>,
    busy_slots: u64,
}

/// The packets of a message that have not entered the network yet.
struct Outgoing {
    to: usize,
    flight: usize,
    packets: u64,
}

/// A message whose last packet has not arrived.
struct Flight {
    parcel: Parcel,
    packets: u64,
}

impl Carriage {
    /// An empty fabric. `None` for an impossible fabric, which [`Fabric`] excludes.
    pub(super) fn new(fabric: &Fabric) -> Option<Carriage> {
        let network = match fabric.kind() {
            FabricKind::Vortex(shape) => {
                let switch = |_| Switch::new(shape, Permutation::Patent);
                let switches = (0..fabric.lane_count()).map(switch).collect();
                Switches::Vortex(Parallel::new(switches, shape.port_count()))
            }
            FabricKind::FatTree { ports } => Switches::Tree(FatTree::fdr(ports).ok()?),
        };
        Some(Carriage {
            network,
            slot_ns: fabric.slot().as_nanos() as u64,
            lane_count: fabric.lane_count(),
            next_slot_at: 0,
            ports: (0..fabric.port_count()).map(|_| Port::default()).collect(),
            active: Vec::new(),
            flights: Vec::new(),
            free: Vec::new(),
            busiest_slots: 0,
        })
    }

    /// Queues a message of `packets` packets at port `from`.
    pub(super) fn send(&mut self, now: u64, from: usize, to: usize, packets: u64, parcel: Parcel) {
        if self.next().is_none() {
            self.next_slot_at = now.next_multiple_of(self.slot_ns);
        }
        let flight = Flight { parcel, packets };
        let place = self.free.pop().unwrap_or(self.flights.len());
        match self.flights.get_mut(place) {
            Some(free) => *free = flight,
            None => self.flights.push(flight),
        }
        if self.ports[from].outgoing.is_empty() {
            self.active.push(from);
        }
        self.ports[from].outgoing.push_back(Outgoing { to, flight: place, packets });
    }

    /// The start of the next slot. `None` while no packet is on its way.
    pub(super) fn next(&self) -> Option<u64> {
        (!self.active.is_empty() || self.network.packet_count() > 0).then_some(self.next_slot_at)
    }

    /// Simulates one slot. Calls `arrive` with the end of the slot and each message that is then complete.
    pub(super) fn step(&mut self, mut arrive: impl FnMut(u64, Parcel)) {
        let Carriage { network, ports, active, flights, free, busiest_slots, lane_count, .. } = self;
        active.retain(|from| {
            let port = &mut ports[*from];
            port.busy_slots += 1;
            *busiest_slots = port.busy_slots.max(*busiest_slots);
            for _ in 0..*lane_count {
                let Some(first) = port.outgoing.front_mut() else { return false };
                if !network.inject(*from as u32, first.to as u32, first.flight) {
                    break;
                }
                first.packets -= 1;
                if first.packets == 0 {
                    port.outgoing.pop_front();
                }
            }
            !port.outgoing.is_empty()
        });
        self.next_slot_at += self.slot_ns;
        let at = self.next_slot_at;
        network.step(|place| {
            let flight = &mut flights[place];
            flight.packets -= 1;
            if flight.packets == 0 {
                free.push(place);
                arrive(at, flight.parcel);
            }
        });
    }

    /// The time for which the busiest port had packets to send, in nanoseconds.
    pub(super) fn busiest_ns(&self) -> u64 {
        self.busiest_slots * self.slot_ns
    }
}

impl Switches {
    /// Returns `true` if the packet has entered.
    fn inject(&mut self, from: u32, to: u32, flight: usize) -> bool {
        match self {
            Switches::Vortex(switches) => switches.inject(from, to, flight).is_ok(),
            Switches::Tree(tree) => tree.inject(from, to, flight).is_ok(),
        }
    }

    fn step(&mut self, mut arrive: impl FnMut(usize)) {
        match self {
            Switches::Vortex(switches) => switches.step(|_, flight| arrive(flight)),
            Switches::Tree(tree) => tree.step(|_, flight| arrive(flight)),
        }
    }

    fn packet_count(&self) -> usize {
        match self {
            Switches::Vortex(switches) => switches.packet_count(),
            Switches::Tree(tree) => tree.packet_count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number and the arrival of each message sent from port 0 to port 5. `sent` has times and packets.
    fn arrivals(fabric: Fabric, sent: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut carriage = Carriage::new(&fabric).unwrap();
        let mut arrived = Vec::new();
        for (number, (at, packets)) in sent.iter().enumerate() {
            while carriage.next().is_some_and(|slot| slot < *at) {
                carriage.step(|at, (_, number)| arrived.push((number, at)));
            }
            carriage.send(*at, 0, 5, *packets, (0, number as u64));
        }
        while carriage.next().is_some() {
            carriage.step(|at, (_, number)| arrived.push((number, at)));
        }
        arrived
    }

    #[test]
    fn a_message_arrives_when_its_last_packet_does() {
        let tree = Fabric::fat_tree(16).unwrap();
        // One switch: a slot for each packet.
        assert_eq!(arrivals(tree, &[(0, 3)]), [(0, 3 * 41)]);
        assert_eq!(arrivals(tree, &[(0, 3), (0, 2)]), [(0, 3 * 41), (1, 5 * 41)], "one after the other");
    }

    #[test]
    fn no_slot_passes_while_nothing_is_on_its_way() {
        let tree = Fabric::fat_tree(16).unwrap();
        let late = 41_000_000;
        assert_eq!(arrivals(tree, &[(0, 1), (late - 1, 1)]), [(0, 41), (1, late + 41)]);
    }

    #[test]
    fn a_data_vortex_takes_its_cylinders_and_the_cells_behind_the_first() {
        let vortex = Fabric::vortex(16, 2).unwrap();
        let (short, long) = (arrivals(vortex, &[(0, 1)])[0].1, arrivals(vortex, &[(0, 160)])[0].1);
        assert!(short >= 5 * 30, "five cylinders, {short}");
        assert!(long >= short + 9 * 30, "16 cells a slot, {long}");
    }
}
