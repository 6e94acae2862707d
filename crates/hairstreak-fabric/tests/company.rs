//! Publishers that come and go, while another publisher goes on: all in slots of the fabric.

use std::collections::HashMap;

use hairstreak_fabric::card::{CardLimits, Cell, SimulatedCards};
use hairstreak_fabric::stream::{Found, StreamEvent, StreamId, Streams};
use hairstreak_fabric::vortex::{Permutation, Shape, Switch};
use hairstreak_fabric::{Network, Parallel};

const SIZE: u32 = 32;
/// The rank that all others send to in the second test.
const HOT: u32 = 7;
const NETWORKS: u32 = 4;
/// Slots in which rates are taken.
const WINDOW: u64 = 25_000;
const WINDOWS: u64 = 5;
/// The others write so many bytes every so many slots each: a tenth of what their cards can send.
const PART: usize = 640;
const PERIOD: u64 = 200;

struct World<N> {
    cards: SimulatedCards<N>,
    streams: Vec<Streams>,
    /// Bytes that came from each rank in each stream to rank 7.
    received: HashMap<StreamId, usize>,
    from: HashMap<StreamId, u32>,
}

fn world() -> World<impl Network<Cell>> {
    let shape = Shape::new(8, 4).unwrap();
    let switches = (0..NETWORKS).map(|_| Switch::new(shape, Permutation::Patent)).collect();
    let mut cards = SimulatedCards::new(Parallel::new(switches, SIZE), SIZE, CardLimits::default()).unwrap();
    let mut streams: Vec<Streams> = (0..SIZE).map(|rank| Streams::new(&cards.card(rank))).collect();
    streams.iter_mut().for_each(|streams| streams.listen(1));
    World { cards, streams, received: HashMap::new(), from: HashMap::new() }
}

impl<N: Network<Cell>> World<N> {
    fn open(&mut self, from: u32, to: u32) -> StreamId {
        self.streams[from as usize].open(to, 1).unwrap()
    }

    /// A slot passes, in which each rank reads all that has come.
    fn pass(&mut self) {
        let mut bytes = vec![0; 1 << 16];
        for (rank, streams) in (0..).zip(&mut self.streams) {
            streams.poll(&mut self.cards.card(rank));
            while let Some(event) = streams.next_event() {
                if let StreamEvent::Accepted { stream, from, .. } = event
                    && rank == HOT
                {
                    self.from.insert(stream, from);
                }
                let StreamEvent::Readable(stream) = event else { continue };
                match streams.read(stream, &mut bytes) {
                    Found::End => streams.close(stream),
                    Found::Bytes(count) if rank == HOT => *self.received.entry(stream).or_default() += count,
                    Found::Bytes(_) | Found::Nothing | Found::Reset => {}
                }
                // Bytes that come later make another event.
                let _ = streams.read(stream, &mut bytes[..0]);
            }
        }
        self.cards.step();
    }
}

/// The bytes that are taken of a publisher from rank 0 to rank 1, which has always more, in each window. `company` says which of eight others are there in
/// a window; each sends between ranks of its own.
fn rates(company: impl Fn(u64, u32) -> bool) -> Vec<usize> {
    let mut world = world();
    let publisher = world.open(0, 1);
    let mut others: Vec<Option<StreamId>> = vec![None; 8];
    let (bytes, mut windows) = ([7; 8_192], Vec::new());
    for window in 0..WINDOWS {
        let mut taken_count = 0;
        for number in 0..8 {
            let (from, is_wanted) = (2 + 2 * number, company(window, number));
            let other = &mut others[number as usize];
            match (*other, is_wanted) {
                (None, true) => *other = Some(world.open(from, from + 1)),
                (Some(stream), false) => {
                    world.streams[from as usize].close(stream);
                    *other = None;
                }
                _ => {}
            }
        }
        for slot in 0..WINDOW {
            taken_count += world.streams[0].write(publisher, &bytes);
            if slot % PERIOD == 0 {
                for (number, stream) in (0..).zip(&others) {
                    let Some(stream) = *stream else { continue };
                    let taken = world.streams[2 + 2 * number].write(stream, &bytes[..PART]);
                    assert_eq!(taken, PART, "below saturation");
                }
            }
            world.pass();
        }
        windows.push(taken_count);
    }
    windows
}

#[test]
fn publishers_with_other_destinations_come_and_go_and_a_publisher_keeps_its_rate() {
    let alone = rates(|_, _| false);
    // All of them in every second window; then two more in each window.
    for company in [|window, _| window % 2 == 1, |window, number: u32| u64::from(number) < 2 * window] {
        let among_others = rates(company);
        println!("alone {alone:?}, among others {among_others:?}");
        for (alone, among_others) in alone.iter().zip(&among_others).skip(1) {
            let change = among_others.abs_diff(*alone) as f64 / *alone as f64;
            assert!(change < 0.05, "{among_others} bytes in a window, {alone} alone");
        }
    }
}

#[test]
fn senders_to_one_rank_share_it_and_a_small_message_comes_through() {
    let mut world = world();
    let senders: Vec<u32> = (0..SIZE).filter(|rank| *rank != HOT).collect();
    let streams: Vec<StreamId> = senders.iter().map(|from| world.open(*from, HOT)).collect();
    let bytes = [7; 8_192];
    const SLOTS: u64 = 150_000;
    let mut small: Option<(u32, StreamId, u64)> = None;
    let mut latencies = Vec::new();
    for slot in 0..SLOTS {
        for (from, stream) in senders.iter().zip(&streams) {
            world.streams[*from as usize].write(*stream, &bytes);
        }
        world.pass();
        if let Some((from, _, since)) = small {
            let there = world.received.iter().find(|(id, count)| **count == 8 && world.from[*id] == from);
            if let Some((id, _)) = there.map(|(id, count)| (*id, *count)) {
                latencies.push((from, slot - since));
                world.received.remove(&id);
                small = None;
            }
        }
        if small.is_none() && slot > SLOTS / 4 {
            let from = senders[latencies.len() % senders.len()];
            let stream = world.open(from, HOT);
            world.streams[from as usize].write(stream, &[1; 8]);
            small = Some((from, stream, slot));
        }
    }
    let mut shares: HashMap<u32, usize> = HashMap::new();
    for (id, count) in &world.received {
        *shares.entry(world.from[id]).or_default() += count;
    }
    let total: usize = shares.values().sum();
    let least = shares.values().min().unwrap_or(&0) * senders.len() * 100 / total;
    println!("the least has {least}% of the mean");
    println!("{} bytes a slot, small messages after {latencies:?} slots", total as u64 / SLOTS);
    assert!(total as u64 > SLOTS * u64::from(NETWORKS) * 8 * 9 / 10, "nine tenths of what a card can take");
    for from in &senders {
        assert!(shares[from] > total / senders.len() / 2, "{} bytes from {from}", shares[from]);
    }
    // Each card has a turn of two chunks at most before.
    let turns = 2 * senders.len() as u64 * 8_192 / (u64::from(NETWORKS) * 8);
    assert!(latencies.len() > 4 && latencies.iter().all(|(_, slots)| *slots < 2 * turns), "{latencies:?}");
}
