//! `Switch`: the packets of a Data Vortex, slot by slot.
//!
//! All packets move one angle in each slot. So a packet never leaves its *sheet*, the nodes that move with it: sheet `s` is at angle
//! `s + slot` modulo `A`. In a sheet only cylinder and height change, and the sheets do not touch each other.
//!
//! Invariants: a node has at most one packet; the bits of `occupied` mark the nodes with a packet; a packet keeps its
//! key from node to node.

use slab::Slab;

use super::permutation::Permutation;
use super::shape::{Port, Shape};

/// A switch whose packets carry a `T`.
///
/// ```
/// use hairstreak_fabric::vortex::{Permutation, Port, Shape, Switch};
///
/// let mut switch = Switch::new(Shape::new(4, 3)?, Permutation::Patent);
/// let (from, to) = (Port { angle: 0, height: 1 }, Port { angle: 2, height: 3 });
/// switch.inject(from, to, "payload").expect("the switch is empty");
/// let mut arrived = None;
/// while arrived.is_none() {
///     switch.step(|arrival| arrived = Some((arrival.port, arrival.payload)));
/// }
/// assert_eq!(arrived, Some((to, "payload")));
/// # Ok::<(), hairstreak_fabric::vortex::ShapeError>(())
/// ```
#[derive(Debug)]
pub struct Switch<T> {
    shape: Shape,
    slot: u64,
    sheets: Vec<Sheet>,
    flights: Slab<Flight<T>>,
    /// The next height of each height, cylinder by cylinder without the innermost one.
    next: Vec<u16>,
    counts: Counts,
}

/// A packet that has left the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<T> {
    /// The port at which the packet left.
    pub port: Port,
    /// Slots since the packet entered.
    pub slots: u64,
    /// The load of the packet.
    pub payload: T,
}

/// Figures of a switch since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that entered.
    pub injected: u64,
    /// Packets that left.
    pub ejected: u64,
    /// Nodes with a packet, summed over the slots.
    pub node_updates: u64,
    /// Deflections: hops of packets whose bit was right while the inward node was taken.
    pub deflections: u64,
}

#[derive(Debug)]
struct Flight<T> {
    injected_at: u64,
    payload: T,
}

/// A packet in a node.
#[derive(Clone, Copy, Debug, Default)]
struct Packet {
    key: u32,
    height: u16,
    angle: u16,
}

/// The nodes that move together.
#[derive(Debug)]
struct Sheet {
    /// Node by node, the heights of cylinder 0 first.
    packets: Vec<Packet>,
    after: Vec<Packet>,
    /// A bit for each height, `word_count` words for each cylinder.
    occupied: Vec<u64>,
    occupied_after: Vec<u64>,
    /// Packets inside: a sheet without any is not stepped.
    packet_count: u32,
}

impl<T> Switch<T> {
    /// An empty switch.
    pub fn new(shape: Shape, permutation: Permutation) -> Switch<T> {
        let cylinders = 0..shape.height_bits();
        let next = cylinders.flat_map(|cylinder| {
            (0..shape.heights()).map(move |height| permutation.next(shape, cylinder, height) as u16)
        });
        Switch {
            shape,
            slot: 0,
            sheets: (0..shape.angles()).map(|_| Sheet::new(shape)).collect(),
            flights: Slab::new(),
            next: next.collect(),
            counts: Counts::default(),
        }
    }

    /// The size of the switch.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Slots since the switch was made.
    pub fn slot(&self) -> u64 {
        self.slot
    }

    /// Packets inside.
    pub fn packet_count(&self) -> usize {
        self.flights.len()
    }

    /// Figures since the switch was made.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// A packet enters, at most one at each port in each slot.
    ///
    /// # Errors
    ///
    /// The node of the port is taken: `payload` comes back.
    ///
    /// # Panics
    ///
    /// The switch has no such port.
    pub fn inject(&mut self, from: Port, to: Port, payload: T) -> Result<(), T> {
        let angles = self.shape.angles();
        assert!(from.angle < angles && from.height < self.shape.heights(), "{from:?}");
        assert!(to.angle < angles && to.height < self.shape.heights(), "{to:?}");
        let sheet = (from.angle + angles - (self.slot % u64::from(angles)) as u32) % angles;
        let sheet = &mut self.sheets[sheet as usize];
        let (word, bit) = (from.height as usize / 64, 1 << (from.height % 64));
        if sheet.occupied[word] & bit != 0 {
            return Err(payload);
        }
        let key = self.flights.insert(Flight { injected_at: self.slot, payload }) as u32;
        sheet.occupied[word] |= bit;
        sheet.packet_count += 1;
        sheet.packets[from.height as usize] =
            Packet { key, height: to.height as u16, angle: to.angle as u16 };
        self.counts.injected += 1;
        Ok(())
    }

    /// A slot passes: all packets move, and those at their port leave.
    pub fn step(&mut self, mut arrive: impl FnMut(Arrival<T>)) {
        let angles = self.shape.angles();
        for (number, sheet) in self.sheets.iter_mut().enumerate().filter(|(_, sheet)| sheet.packet_count > 0)
        {
            let angle = ((number as u64 + self.slot) % u64::from(angles)) as u16;
            let (flights, slot) = (&mut self.flights, self.slot);
            sheet.step(self.shape, &self.next, angle, &mut self.counts, |packet| {
                let flight = flights.remove(packet.key as usize);
                let port = Port { angle: packet.angle.into(), height: packet.height.into() };
                arrive(Arrival { port, slots: slot + 1 - flight.injected_at, payload: flight.payload });
            });
        }
        self.slot += 1;
    }
}

impl Sheet {
    fn new(shape: Shape) -> Sheet {
        let (heights, cylinders) = (shape.heights() as usize, shape.cylinders() as usize);
        let words = word_count(shape) * cylinders;
        Sheet {
            packets: vec![Packet::default(); heights * cylinders],
            after: vec![Packet::default(); heights * cylinders],
            occupied: vec![0; words],
            occupied_after: vec![0; words],
            packet_count: 0,
        }
    }

    /// Moves the packets, the innermost cylinder first: packets on a ring take their nodes before packets from outside do.
    fn step(
        &mut self,
        shape: Shape,
        next: &[u16],
        angle: u16,
        counts: &mut Counts,
        mut leave: impl FnMut(Packet),
    ) {
        let (heights, bits, words) =
            (shape.heights() as usize, shape.height_bits() as usize, word_count(shape));
        let Sheet { packets, after, occupied, occupied_after, packet_count } = self;
        occupied_after.fill(0);
        let mut node_updates = 0;
        let mut deflections = 0;
        for height in heights_of(&occupied[bits * words..]) {
            let at = bits * heights + height;
            let packet = packets[at];
            node_updates += 1;
            if packet.angle == angle {
                counts.ejected += 1;
                *packet_count -= 1;
                leave(packet);
            } else {
                after[at] = packet;
                set(&mut occupied_after[bits * words..], height);
            }
        }
        for cylinder in (0..bits).rev() {
            let (own, inner) = occupied_after[cylinder * words..(cylinder + 2) * words].split_at_mut(words);
            let next = &next[cylinder * heights..(cylinder + 1) * heights];
            let bit = bits - 1 - cylinder;
            for height in heights_of(&occupied[cylinder * words..(cylinder + 1) * words]) {
                let packet = packets[cylinder * heights + height];
                node_updates += 1;
                let is_right = (height ^ usize::from(packet.height)) >> bit & 1 == 0;
                if is_right && !is_set(inner, height) {
                    after[(cylinder + 1) * heights + height] = packet;
                    set(inner, height);
                } else {
                    deflections += u64::from(is_right);
                    let height = usize::from(next[height]);
                    after[cylinder * heights + height] = packet;
                    set(own, height);
                }
            }
        }
        std::mem::swap(packets, after);
        std::mem::swap(occupied, occupied_after);
        counts.node_updates += node_updates;
        counts.deflections += deflections;
    }
}

fn word_count(shape: Shape) -> usize {
    (shape.heights() as usize).div_ceil(64)
}

/// The heights whose bits are set.
#[inline]
fn heights_of(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = left.trailing_zeros() as usize;
            let is_left = left != 0;
            left &= left.wrapping_sub(1);
            is_left.then_some(index * 64 + bit)
        })
    })
}

#[inline]
fn set(words: &mut [u64], height: usize) {
    words[height / 64] |= 1 << (height % 64);
}

#[inline]
fn is_set(words: &[u64], height: usize) -> bool {
    words[height / 64] >> (height % 64) & 1 == 1
}
