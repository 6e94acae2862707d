//! Streams between cards: bytes in order over words without order, on networks and in shared memory.

use std::collections::HashMap;

use fastrand::Rng;
use hairstreak_fabric::card::{CardLimits, Cell, SharedCards, SimulatedCards, Vic};
use hairstreak_fabric::stream::{Found, StreamEvent, StreamId, Streams};
use hairstreak_fabric::vortex::{Permutation, Shape, Switch};
use hairstreak_fabric::{Network, Parallel};

const SIZE: u32 = 8;
const PORT: u16 = 7;
const SEEDS: u64 = 20;

fn limits() -> CardLimits {
    // Four chunks, so that streams wait for them, and little room everywhere.
    CardLimits { memory_words: 4 * 1_024, fifo_share: 3, outgoing_max: 200, queries_max: 1 }
}

/// The streams of all cards, and what each is to receive.
struct World<C> {
    cards: C,
    streams: Vec<Streams>,
    ends: HashMap<(u32, StreamId), End>,
    /// The bytes from an opener, by the number that is their first word.
    sent: HashMap<u64, Vec<u8>>,
    refused: usize,
}

/// One end of a stream.
struct End {
    is_opener: bool,
    to_send: Vec<u8>,
    received: Vec<u8>,
    has_closed: bool,
    is_over: bool,
}

trait Cards {
    fn act<R>(&mut self, rank: u32, act: impl FnOnce(&mut dyn Vic) -> R) -> R;
    fn pass(&mut self);
}

impl<N: Network<Cell>> Cards for SimulatedCards<N> {
    fn act<R>(&mut self, rank: u32, act: impl FnOnce(&mut dyn Vic) -> R) -> R {
        act(&mut self.card(rank))
    }

    fn pass(&mut self) {
        (0..10).for_each(|_| self.step());
    }
}

struct Shared(Vec<Box<dyn Vic>>);

impl Cards for Shared {
    fn act<R>(&mut self, rank: u32, act: impl FnOnce(&mut dyn Vic) -> R) -> R {
        act(&mut *self.0[rank as usize])
    }

    fn pass(&mut self) {}
}

fn vortex() -> impl Cards {
    SimulatedCards::new(switch(), SIZE, limits()).unwrap()
}

fn switch() -> Switch<Cell> {
    Switch::new(Shape::new(4, 2).unwrap(), Permutation::Patent)
}

fn vortices() -> impl Cards {
    let switches = (0..8).map(|_| switch()).collect();
    SimulatedCards::new(Parallel::new(switches, SIZE), SIZE, limits()).unwrap()
}

fn shared() -> impl Cards {
    let cards = SharedCards::in_process(SIZE, limits()).unwrap();
    Shared((0..SIZE).map(|rank| Box::new(cards.card(rank)) as Box<dyn Vic>).collect())
}

impl<C: Cards> World<C> {
    fn new(mut cards: C) -> World<C> {
        let mut streams: Vec<_> = (0..SIZE).map(|rank| cards.act(rank, |card| Streams::new(card))).collect();
        streams.iter_mut().for_each(|streams| streams.listen(PORT));
        World { cards, streams, ends: HashMap::new(), sent: HashMap::new(), refused: 0 }
    }

    fn open(&mut self, from: u32, to: u32, number: u64, rng: &mut Rng) {
        let stream = self.streams[from as usize].open(to, PORT).unwrap();
        let size = [0, 1, 7, 100, 8_192, 50_000, 200_000][rng.usize(..7)] + rng.usize(..9);
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.extend((0..size).map(|_| rng.u8(..)));
        self.sent.insert(number, bytes.clone());
        let end =
            End { is_opener: true, to_send: bytes, received: Vec::new(), has_closed: false, is_over: false };
        self.ends.insert((from, stream), end);
    }

    /// Every card does what it can, in an order by seed.
    fn turn(&mut self, rng: &mut Rng) {
        let mut ranks: Vec<u32> = (0..SIZE).collect();
        rng.shuffle(&mut ranks);
        for rank in ranks {
            if rng.u8(..4) == 0 {
                continue;
            }
            let streams = &mut self.streams[rank as usize];
            self.cards.act(rank, |card| streams.poll(card));
            while let Some(event) = streams.next_event() {
                match event {
                    StreamEvent::Accepted { stream, port, .. } => {
                        assert_eq!(port, PORT);
                        // The acceptor sends something of its own.
                        let to_send = vec![rank as u8; rng.usize(..20_000)];
                        let end = End {
                            is_opener: false,
                            to_send,
                            received: Vec::new(),
                            has_closed: false,
                            is_over: false,
                        };
                        assert!(self.ends.insert((rank, stream), end).is_none(), "a number that is taken");
                    }
                    StreamEvent::Gone(stream) => {
                        let end = self.ends.remove(&(rank, stream)).expect("a stream that is known");
                        assert!(end.is_over && end.has_closed && end.to_send.is_empty());
                        if !end.is_opener {
                            let number = u64::from_le_bytes(end.received[..8].try_into().unwrap());
                            assert!(self.sent.remove(&number) == Some(end.received), "stream {number}");
                        }
                    }
                    StreamEvent::Refused(_) => self.refused += 1,
                    _ => {}
                }
            }
            for ((_, stream), end) in self.ends.iter_mut().filter(|((owner, _), _)| *owner == rank) {
                let count = streams.write(*stream, &end.to_send);
                end.to_send.drain(..count);
                let mut bytes = vec![0; rng.usize(1..9_000)];
                match streams.read(*stream, &mut bytes) {
                    Found::Bytes(count) => end.received.extend(&bytes[..count]),
                    Found::End => end.is_over = true,
                    Found::Nothing => {}
                    Found::Reset => panic!("nobody gave the stream up"),
                }
                if end.to_send.is_empty() && !end.has_closed && rng.u8(..4) == 0 {
                    end.has_closed = true;
                    streams.close(*stream);
                }
            }
        }
        self.cards.pass();
    }

    /// All chunks are free again.
    fn check_idle(&self) {
        assert!(self.ends.is_empty() && self.sent.is_empty());
        for streams in &self.streams {
            assert_eq!((streams.count(), streams.free_chunk_count()), (0, 4));
        }
    }
}

fn exchange(cards: impl Cards, seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let mut world = World::new(cards);
    for number in 0..40 {
        let (from, to) = (rng.u32(..SIZE), rng.u32(..SIZE));
        world.open(from, to, number, &mut rng);
        (0..rng.usize(..20)).for_each(|_| world.turn(&mut rng));
    }
    for _ in 0..200_000 {
        if world.ends.is_empty() {
            break;
        }
        world.turn(&mut rng);
    }
    (0..100).for_each(|_| world.turn(&mut rng));
    world.check_idle();
}

#[test]
fn every_byte_arrives_in_order_and_everything_is_given_back() {
    for seed in 0..SEEDS {
        exchange(vortex(), seed);
        exchange(vortices(), seed);
        exchange(shared(), seed);
    }
}

#[test]
fn a_port_that_nobody_listens_at_refuses() {
    let mut rng = Rng::with_seed(1);
    let mut world = World::new(vortex());
    world.streams[3].stop_listening(PORT);
    world.streams[1].open(3, PORT).unwrap();
    (0..1_000).for_each(|_| world.turn(&mut rng));
    assert_eq!(world.refused, 1);
    assert_eq!(world.streams[1].count(), 0);
    assert!(world.streams[1].open(SIZE, PORT).is_err());
}

#[test]
fn streams_that_are_given_up_anywhere_give_everything_back() {
    (0..SEEDS).for_each(|seed| give_up(seed, 0));
}

#[test]
fn cards_that_are_replaced_take_their_streams_with_them() {
    (0..SEEDS).for_each(|seed| give_up(seed, 200));
}

/// Streams are opened, closed and given up at random; one of so many turns replaces a card.
fn give_up(seed: u64, turns_to_replace: u32) {
    let mut rng = Rng::with_seed(seed);
    let mut cards = SimulatedCards::new(switch(), SIZE, limits()).unwrap();
    let mut streams: Vec<Streams> = (0..SIZE).map(|rank| Streams::new(&cards.card(rank))).collect();
    streams.iter_mut().for_each(|streams| streams.listen(PORT));
    let mut open: Vec<(u32, StreamId)> = Vec::new();
    let mut bytes = vec![1; 30_000];
    for round in 0..30_000 {
        if round < 10_000 && rng.u8(..100) == 0 {
            let (from, to) = (rng.u32(..SIZE), rng.u32(..SIZE));
            open.push((from, streams[from as usize].open(to, PORT).unwrap()));
        }
        let rank = rng.u32(..SIZE);
        if round < 10_000 && turns_to_replace > 0 && rng.u32(..turns_to_replace) == 0 {
            cards.replace(rank);
            streams[rank as usize] = Streams::new(&cards.card(rank));
            streams[rank as usize].listen(PORT);
            open.retain(|(owner, _)| *owner != rank);
        }
        let own = &mut streams[rank as usize];
        own.poll(&mut cards.card(rank));
        while let Some(event) = own.next_event() {
            match event {
                StreamEvent::Accepted { stream, .. } => open.push((rank, stream)),
                StreamEvent::Gone(stream) | StreamEvent::Refused(stream) | StreamEvent::Lost(stream) => {
                    open.retain(|end| *end != (rank, stream));
                }
                _ => {}
            }
        }
        let own_ends: Vec<_> =
            open.iter().filter(|(owner, _)| *owner == rank).map(|(_, stream)| *stream).collect();
        for stream in own_ends {
            match rng.u8(..20) {
                0 => own.close(stream),
                1 if rng.bool() => own.reset(stream),
                1 => own.abandon(stream),
                _ if round > 10_000 => own.reset(stream),
                2..8 => {
                    let _ = own.write(stream, &bytes);
                }
                _ => {
                    let _ = own.read(stream, &mut bytes);
                }
            }
        }
        cards.step();
    }
    assert!(open.is_empty(), "seed {seed}: {open:?}");
    for own in &streams {
        assert_eq!((own.count(), own.free_chunk_count()), (0, 4), "seed {seed}");
    }
}

/// A card says anything to two others, which exchange bytes meanwhile.
#[test]
fn words_that_make_no_sense_hurt_nobody() {
    for seed in 0..SEEDS {
        let mut rng = Rng::with_seed(seed);
        let mut cards = SimulatedCards::new(switch(), SIZE, limits()).unwrap();
        let mut streams = [0, 1].map(|rank| Streams::new(&cards.card(rank)));
        streams[1].listen(PORT);
        let sent: Vec<u8> = (0..100_000).map(|_| rng.u8(..)).collect();
        let opened = streams[0].open(1, PORT).unwrap();
        let (mut at, mut received, mut accepted) = (0, Vec::<u8>::new(), None);
        for _ in 0..200_000 {
            if received.len() == sent.len() {
                break;
            }
            // All kinds, with small numbers, which other words have, too.
            let word = rng.u64(0..9) << 60
                | rng.u64(0..8) << 44
                | rng.u64(0..64) << 38
                | rng.u64(0..1 << 14) << 24
                | rng.u64(0..4);
            let victim = rng.u32(..2);
            let mut rogue = cards.card(7);
            rogue.surprise(victim, word);
            rogue.take_surprise();
            at += streams[0].write(opened, &sent[at..]);
            for (rank, streams) in (0..).zip(&mut streams) {
                streams.poll(&mut cards.card(rank));
                while let Some(event) = streams.next_event() {
                    if let StreamEvent::Accepted { stream, from: 0, .. } = event {
                        accepted = Some(stream);
                    }
                }
            }
            let mut bytes = [0; 4_096];
            if let Some(stream) = accepted
                && let Found::Bytes(count) = streams[1].read(stream, &mut bytes)
            {
                received.extend(&bytes[..count]);
            }
            cards.step();
        }
        assert!(received == sent, "seed {seed}: {} of {} bytes", received.len(), sent.len());
    }
}
