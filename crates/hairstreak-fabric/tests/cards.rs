//! Cards: the same program on a Data Vortex, on a fat tree, on several networks, and in shared memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use fastrand::Rng;
use hairstreak_fabric::card::{
    CardLimits, Cell, Counter, LimitsError, PutWord, Query, SharedCard, SharedCards, SimulatedCards, Vic,
};
use hairstreak_fabric::fat_tree::FatTree;
use hairstreak_fabric::omega::Omega;
use hairstreak_fabric::vortex::{Permutation, Shape, Switch};
use hairstreak_fabric::{Network, Parallel};

const SIZE: u32 = 16;
/// Slots within which all that is under way arrives.
const LONG: u64 = 100_000;

fn limits() -> CardLimits {
    CardLimits { memory_words: 256, fifo_share: 4, outgoing_max: 32, queries_max: 8 }
}

/// Cards of which one at a time is used.
trait World {
    fn act<R>(&mut self, rank: u32, act: impl FnOnce(&mut dyn Vic) -> R) -> R;
    /// Time passes.
    fn pass(&mut self);

    /// Waits until it holds of the card.
    fn wait(&mut self, rank: u32, holds: impl Fn(&mut dyn Vic) -> bool) {
        for _ in 0..LONG {
            if self.act(rank, &holds) {
                return;
            }
            self.pass();
        }
        panic!("card {rank} waits in vain");
    }
}

impl<N: Network<Cell>> World for SimulatedCards<N> {
    fn act<R>(&mut self, rank: u32, act: impl FnOnce(&mut dyn Vic) -> R) -> R {
        act(&mut self.card(rank))
    }

    fn pass(&mut self) {
        self.step();
    }
}

struct Shared(Vec<SharedCard<Arc<[AtomicU64]>>>, SharedCards<Arc<[AtomicU64]>>);

impl World for Shared {
    fn act<R>(&mut self, rank: u32, act: impl FnOnce(&mut dyn Vic) -> R) -> R {
        act(&mut self.0[rank as usize])
    }

    fn pass(&mut self) {}
}

fn switch() -> Switch<Cell> {
    Switch::new(Shape::new(8, 2).unwrap(), Permutation::Patent)
}

fn vortex() -> SimulatedCards<Switch<Cell>> {
    SimulatedCards::new(switch(), SIZE, limits()).unwrap()
}

fn shared() -> Shared {
    let cards = SharedCards::in_process(SIZE, limits()).unwrap();
    Shared((0..SIZE).map(|rank| cards.card(rank)).collect(), cards)
}

/// Runs a program in every world.
macro_rules! in_every_world {
    ($program:ident) => {{
        $program(&mut vortex());
        let switches = (0..4).map(|_| switch()).collect();
        $program(&mut SimulatedCards::new(Parallel::new(switches, SIZE), SIZE, limits()).unwrap());
        $program(&mut SimulatedCards::new(FatTree::new(4, 2, 4).unwrap(), SIZE, limits()).unwrap());
        $program(&mut shared());
    }};
}

fn counter(number: u8) -> Counter {
    Counter::new(number).unwrap()
}

/// A word that says where it comes from and goes to.
fn word_of(round: u64, from: u32, to: u32, index: u32) -> u64 {
    let [from, to, index] = [from, to, index].map(u64::from);
    ((round * 256 + from) * 256 + to) * 256 + index
}

#[test]
fn words_are_where_they_go_when_their_counter_is_down() {
    fn program(world: &mut impl World) {
        for round in 0..20_u64 {
            for to in 0..SIZE {
                world.act(to, |card| card.expect_words(counter(3), 10 * SIZE));
            }
            // Each card puts ten words into a part of its own of each memory.
            let mut left: Vec<(u32, u32, Vec<PutWord>)> = Vec::new();
            for (from, to) in (0..SIZE).flat_map(|from| (0..SIZE).map(move |to| (from, to))) {
                let word = |index: u32| PutWord {
                    address: from * 10 + index,
                    word: word_of(round, from, to, index),
                    counter: Some(counter(3)),
                };
                left.push((from, to, (0..10).map(word).collect()));
            }
            while !left.is_empty() {
                left.retain_mut(|(from, to, words)| {
                    let taken = world.act(*from, |card| card.put(*to, words));
                    words.drain(..taken);
                    !words.is_empty()
                });
                world.pass();
            }
            for to in 0..SIZE {
                world.wait(to, |card| card.missing(counter(3)) == 0);
                let mut found = vec![0; 10 * SIZE as usize];
                world.act(to, |card| card.read(0, &mut found));
                let expected = |place: u32| word_of(round, place / 10, to, place % 10);
                assert_eq!(found, (0..10 * SIZE).map(expected).collect::<Vec<_>>());
            }
        }
    }
    in_every_world!(program);
}

#[test]
fn words_that_come_before_they_are_expected_count() {
    fn program(world: &mut impl World) {
        let word = PutWord { address: 0, word: 7, counter: Some(counter(0)) };
        assert_eq!(world.act(1, |card| card.put(0, &[word, word])), 2);
        world.wait(0, |card| card.missing(counter(0)) == -2);
        world.act(0, |card| card.expect_words(counter(0), 2));
        assert_eq!(world.act(0, |card| card.missing(counter(0))), 0);
    }
    in_every_world!(program);
}

#[test]
fn a_query_is_answered_without_the_other_program() {
    fn program(world: &mut impl World) {
        world.act(5, |card| card.write(100, &[1, 2, 3, 4, 5, 6, 7, 8, 9]));
        let queries: Vec<Query> =
            (0..9).map(|at| Query { address: 100 + at, into: at, counter: Some(counter(9)) }).collect();
        world.act(2, |card| card.expect_words(counter(9), 9));
        let mut sent = 0;
        while sent < queries.len() {
            sent += world.act(2, |card| card.query(5, &queries[sent..]));
            world.pass();
        }
        world.wait(2, |card| card.missing(counter(9)) == 0);
        let mut found = [0; 9];
        world.act(2, |card| card.read(0, &mut found));
        assert_eq!(found, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
    in_every_world!(program);
}

#[test]
fn a_fifo_has_a_share_for_each_card_and_loses_nothing() {
    fn program(world: &mut impl World) {
        // Two cards send as much as they can to a third one, which takes nothing.
        let mut sent = [0_u64; 2];
        for _ in 0..1_000 {
            for from in 0..2 {
                let place = &mut sent[from as usize];
                *place += u64::from(world.act(from, |card| card.surprise(2, *place)));
            }
            world.pass();
        }
        assert_eq!(sent, [4, 4]);
        // It takes them, and all that comes after.
        let mut found = [Vec::new(), Vec::new()];
        let mut rng = Rng::with_seed(1);
        for _ in 0..20_000 {
            for from in 0..2 {
                let place = &mut sent[from as usize];
                if *place < 500 {
                    *place += u64::from(world.act(from, |card| card.surprise(2, *place)));
                }
            }
            if rng.bool()
                && let Some((from, word)) = world.act(2, |card| card.take_surprise())
            {
                found[from as usize].push(word);
            }
            world.pass();
        }
        for words in &mut found {
            words.sort_unstable();
            assert!(words.iter().copied().eq(0..500), "{} words", words.len());
        }
    }
    in_every_world!(program);
}

#[test]
fn nobody_passes_a_barrier_before_all_have_come() {
    fn program(world: &mut impl World) {
        for round in 1..=10 {
            for rank in 0..SIZE {
                for other in 0..SIZE {
                    assert_eq!(world.act(other, |card| card.barriers_passed()), round - 1);
                }
                world.act(rank, |card| card.enter_barrier());
                if rank < SIZE - 1 {
                    (0..100).for_each(|_| world.pass());
                }
            }
            for rank in 0..SIZE {
                world.wait(rank, |card| card.barriers_passed() == round);
            }
        }
    }
    in_every_world!(program);
}

#[test]
fn a_card_that_waits_for_the_network_holds_no_more_than_it_may() {
    let mut world = vortex();
    let words = [PutWord { address: 0, word: 0, counter: None }; 1_000];
    for _ in 0..100 {
        for from in 0..SIZE {
            let _ = world.act(from, |card| card.put(0, &words));
        }
        world.step();
    }
    let counts = world.counts();
    // One card takes one word in a slot, and 16 that send hold 32 each.
    assert!(counts.held_back > 0 && counts.entered - counts.arrived <= 8 * 2 * 4);
    let before = world.slot();
    while !world.is_idle() {
        world.step();
    }
    let left = world.counts().arrived - counts.arrived;
    assert!(left <= 16 * 32 + 64 && world.slot() - before < 2 * left, "{left}");
}

#[test]
fn threads_that_share_a_memory_see_whole_messages() {
    const ROUNDS: u64 = 20_000;
    let cards = SharedCards::in_process(2, limits()).unwrap();
    let (mut one, mut two) = (cards.card(0), cards.card(1));
    let here = counter(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            for round in 0..ROUNDS {
                let words: Vec<PutWord> =
                    (0..8).map(|address| PutWord { address, word: round, counter: Some(here) }).collect();
                assert_eq!(one.put(1, &words), 8);
                // The answer says that the words have been read.
                while one.take_surprise() != Some((1, round)) {
                    thread::yield_now();
                }
            }
        });
        scope.spawn(move || {
            for round in 0..ROUNDS {
                two.expect_words(here, 8);
                while two.missing(here) > 0 {
                    thread::yield_now();
                }
                let mut found = [0; 8];
                two.read(0, &mut found);
                assert_eq!(found, [round; 8]);
                assert!(two.surprise(0, round));
            }
        });
    });
}

/// A publisher numbers its words, and sends each to two consumers.
#[test]
fn one_stream_has_an_unordered_and_an_ordered_consumer() {
    const COUNT: u64 = 200;
    let switches = (0..4).map(|_| switch()).collect();
    let limits = CardLimits { fifo_share: 16, ..limits() };
    let mut cards = SimulatedCards::new(Parallel::new(switches, SIZE), SIZE, limits).unwrap();
    let (publisher, unordered, ordered, all) = (0, 3, 5, counter(7));
    let mut rng = Rng::with_seed(1);
    cards.card(ordered).expect_words(all, COUNT as u32);
    let (mut told, mut put) = (0, 0);
    let (mut as_they_came, mut first_in_order, mut slot) = (Vec::new(), None, 0);
    while as_they_came.len() < COUNT as usize || first_in_order.is_none() {
        let mut card = cards.card(publisher);
        while told < COUNT && card.surprise(unordered, told) {
            told += 1;
        }
        let words = (put..COUNT).map(|word| PutWord { address: word as u32, word, counter: Some(all) });
        put += card.put(ordered, &words.collect::<Vec<_>>()) as u64;
        while let Some((from, word)) = cards.card(unordered).take_surprise() {
            assert_eq!(from, publisher);
            as_they_came.push((word, slot));
        }
        if first_in_order.is_none() && cards.card(ordered).missing(all) == 0 {
            let mut words = vec![0; COUNT as usize];
            cards.card(ordered).read(0, &mut words);
            assert_eq!(words, (0..COUNT).collect::<Vec<_>>());
            first_in_order = Some(slot);
        }
        // Words of others are in the way of some.
        for other in 8..SIZE {
            let word = PutWord { address: 255, word: slot, counter: None };
            cards.card(other).put(rng.u32(..8), &[word]);
        }
        cards.step();
        slot += 1;
        assert!(slot < LONG, "words are lost");
    }
    assert!(!as_they_came.is_sorted(), "the fabric keeps no order");
    assert!(as_they_came[0].1 < first_in_order.unwrap(), "whoever needs no order has the first word earlier");
    as_they_came.sort();
    assert!(as_they_came.iter().map(|(word, _)| *word).eq(0..COUNT));
}

#[test]
fn a_thread_gets_no_word_of_a_new_card_before_it_is_told_of_the_card() {
    const CARDS: u64 = 2_000_000;
    let limits = CardLimits { memory_words: 1, ..limits() };
    let cards = SharedCards::in_process(2, limits).unwrap();
    let mut reader = cards.card(1);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        // Each card says its number.
        scope.spawn(|| {
            for number in 0..CARDS {
                cards.card(0).surprise(1, number);
                cards.replace(0);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        scope.spawn(|| {
            let mut last = None;
            while !is_over.load(Ordering::Relaxed) {
                if !reader.notice_replaced().is_empty() {
                    last = None;
                }
                for (_, number) in (0..20).filter_map(|_| reader.take_surprise()) {
                    assert_eq!(*last.get_or_insert(number), number, "two cards without a notice between");
                }
            }
        });
    });
}

#[test]
fn sizes_that_cannot_be_are_named() {
    let error = |size, limits| SimulatedCards::new(switch(), size, limits).unwrap_err();
    assert_eq!(error(0, limits()), LimitsError::Ranks(0));
    assert_eq!(error(4_097, limits()), LimitsError::Ranks(4_097));
    assert_eq!(error(17, limits()), LimitsError::Network(17));
    assert_eq!(error(4, CardLimits { memory_words: 0, ..limits() }), LimitsError::Memory(0));
    assert_eq!(error(4, CardLimits { fifo_share: 0, ..limits() }), LimitsError::Zero);
    assert_eq!(error(4, CardLimits { fifo_share: 65_537, ..limits() }), LimitsError::Share(65_537));
    assert!(SimulatedCards::new(switch(), 2, CardLimits { fifo_share: 65_536, ..limits() }).is_ok());
    let lossy = SimulatedCards::new(Omega::new(16, 1).unwrap(), 4, limits());
    assert_eq!(lossy.unwrap_err(), LimitsError::Network(4));
    let region: Arc<[AtomicU64]> = Arc::new([]);
    assert!(matches!(SharedCards::new(region, 2, limits()), Err(LimitsError::Region { words: 0, .. })));
}

/// Worlds in which a card can be replaced.
trait Mortal: World {
    fn replace(&mut self, rank: u32);
}

impl<N: Network<Cell>> Mortal for SimulatedCards<N> {
    fn replace(&mut self, rank: u32) {
        SimulatedCards::replace(self, rank);
    }
}

impl Mortal for Shared {
    fn replace(&mut self, rank: u32) {
        self.1.replace(rank);
        self.0[rank as usize] = self.1.card(rank);
    }
}

#[test]
fn a_card_that_is_gone_leaves_nothing_and_its_successor_begins_anew() {
    fn program(world: &mut impl Mortal) {
        for round in 0..40_u64 {
            // Words in both directions, of which some are under way when the card is replaced.
            let word = PutWord { address: 5, word: 7, counter: Some(counter(0)) };
            for _ in 0..4 {
                world.act(2, |card| card.surprise(3, 100 + round));
                world.act(3, |card| card.surprise(2, 200 + round));
                world.act(3, |card| card.put(2, &[word; 3]));
                world.act(3, |card| card.query(2, &[Query { address: 5, into: 6, counter: None }]));
            }
            (0..round % 7).for_each(|_| world.pass());
            world.replace(2);
            assert_eq!(world.act(3, |card| card.notice_replaced()), [2]);
            assert!(world.act(3, |card| card.notice_replaced()).is_empty());
            (0..50).for_each(|_| world.pass());
            assert_eq!(world.act(3, |card| card.take_surprise()), None);
            assert_eq!(world.act(2, |card| card.take_surprise()), None);
            assert_eq!(world.act(2, |card| card.missing(counter(0))), 0);
            let mut found = [1];
            world.act(2, |card| card.read(5, &mut found));
            assert_eq!(found, [0]);
            // All shares and queries are there again.
            for word in 0..4 {
                assert!(
                    world.act(2, |card| card.surprise(3, word))
                        && world.act(3, |card| card.surprise(2, word))
                );
            }
            let query = Query { address: 0, into: 1, counter: Some(counter(1)) };
            world.act(3, |card| card.expect_words(counter(1), 8));
            assert_eq!(world.act(3, |card| card.query(2, &[query; 8])), 8);
            world.wait(3, |card| card.missing(counter(1)) == 0);
            for (rank, from) in [(2, 3), (3, 2)] {
                let mut words = Vec::new();
                while words.len() < 4 {
                    world.pass();
                    words.extend(world.act(rank, |card| card.take_surprise()));
                }
                words.sort_unstable();
                assert_eq!(words, [0, 1, 2, 3].map(|word| (from, word)));
            }
            (0..100).for_each(|_| world.pass());
        }
    }
    in_every_world!(program);
}

#[test]
fn a_barrier_waits_for_each_rank_and_goes_on_when_cards_are_replaced() {
    fn program(world: &mut impl Mortal) {
        let mut rng = Rng::with_seed(1);
        for round in 1..=60 {
            let last = rng.u32(..SIZE);
            let others = || (0..SIZE).filter(|rank| *rank != last);
            for rank in others() {
                world.act(rank, |card| card.enter_barrier());
            }
            (0..rng.u32(..40)).for_each(|_| world.pass());
            // Arrivals are under way. The card of rank 0 counts them where there is a network.
            for rank in [0, rng.u32(..SIZE)].into_iter().filter(|rank| *rank != last) {
                world.replace(rank);
                // More calls count no more than one.
                (0..3).for_each(|_| world.act(rank, |card| card.enter_barrier()));
            }
            (0..300).for_each(|_| world.pass());
            for rank in 0..SIZE {
                assert_eq!(world.act(rank, |card| card.barriers_passed()), round - 1);
            }
            world.act(last, |card| card.enter_barrier());
            (0..rng.u32(..40)).for_each(|_| world.pass());
            // The last arrival or releases are under way.
            for rank in [0, last] {
                world.replace(rank);
                if world.act(rank, |card| card.barriers_passed()) < round {
                    (0..rng.u32(..40)).for_each(|_| world.pass());
                    world.act(rank, |card| card.enter_barrier());
                }
            }
            for rank in 0..SIZE {
                world.wait(rank, |card| card.barriers_passed() == round);
            }
            (0..300).for_each(|_| world.pass());
        }
    }
    in_every_world!(program);
}

#[test]
fn a_card_comes_to_the_barrier_after_those_that_its_program_knows_to_be_passed() {
    fn program(world: &mut impl Mortal) {
        world.act(1, |card| card.enter_barrier());
        (0..100).for_each(|_| world.pass());
        world.replace(1);
        (0..SIZE).filter(|rank| *rank != 1).for_each(|rank| world.act(rank, |card| card.enter_barrier()));
        for rank in (0..SIZE).filter(|rank| *rank != 1) {
            world.wait(rank, |card| card.barriers_passed() == 1);
            world.act(rank, |card| card.enter_barrier());
        }
        // The barrier is passed because the first card had come. Its successor means the same barrier, and not the next one.
        world.act(1, |card| card.enter_barrier());
        (0..300).for_each(|_| world.pass());
        (0..SIZE).for_each(|rank| assert_eq!(world.act(rank, |card| card.barriers_passed()), 1));
        world.act(1, |card| card.enter_barrier());
        (0..SIZE).for_each(|rank| world.wait(rank, |card| card.barriers_passed() == 2));
    }
    in_every_world!(program);
}

/// Steps until no cell is under way.
fn run_out(world: &mut SimulatedCards<Switch<Cell>>) {
    while !world.is_idle() {
        world.step();
    }
}

#[test]
fn a_cell_of_the_first_of_seventeen_cards_of_a_rank_breaks_nothing() {
    for slots in 0..60 {
        let mut world = vortex();
        let query = Query { address: 0, into: 1, counter: None };
        assert_eq!(world.act(3, |card| card.query(2, &[query; 8])), 8);
        assert_eq!((0..4).filter(|word| world.act(2, |card| card.surprise(3, *word))).count(), 4);
        (0..slots).for_each(|_| world.step());
        // The incarnation of the last one has the same four bits.
        (0..16).for_each(|_| world.replace(2));
        assert_eq!(world.act(3, |card| card.notice_replaced()), [2]);
        assert_eq!((4..8).filter(|word| world.act(2, |card| card.surprise(3, *word))).count(), 4);
        run_out(&mut world);
        let count = std::iter::from_fn(|| world.act(3, |card| card.take_surprise())).count();
        assert_eq!(count, 4, "words of a share of 4, after {slots} slots");
        assert_eq!(world.act(3, |card| card.query(2, &[query; 9])), 8, "after {slots} slots");
        run_out(&mut world);
        assert_eq!(world.act(3, |card| card.query(2, &[query; 9])), 8, "after {slots} slots");
    }
}

#[test]
fn credits_of_the_first_of_seventeen_cards_of_a_rank_make_no_share_larger() {
    for slots in 0..40 {
        let mut world = vortex();
        assert_eq!((0..4).filter(|word| world.act(2, |card| card.surprise(3, *word))).count(), 4);
        run_out(&mut world);
        // Half a share is taken, and given back.
        (0..2).for_each(|_| assert!(world.act(3, |card| card.take_surprise()).is_some()));
        (0..slots).for_each(|_| world.step());
        (0..16).for_each(|_| world.replace(3));
        run_out(&mut world);
        let sent = (0..10).filter(|word| world.act(2, |card| card.surprise(3, *word))).count();
        assert_eq!(sent, 4, "after {slots} slots");
    }
}

#[test]
fn a_query_for_an_address_that_does_not_exist_leaves_no_query_open() {
    let mut world = vortex();
    let [good, bad] = [0, 256].map(|address| Query { address, into: 0, counter: None });
    let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        world.act(1, |card| card.query(2, &[good, bad]))
    }));
    assert!(asked.is_err());
    assert!(world.is_idle());
    for _ in 0..2 {
        assert_eq!(world.act(1, |card| card.query(2, &[good; 9])), 8);
        run_out(&mut world);
    }
}
