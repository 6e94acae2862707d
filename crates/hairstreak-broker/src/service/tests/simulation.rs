//! Services in a deterministic simulator: numbered clients that go from broker to broker, workers with reply caches and plain
//! ones without, round real [`Broker`]s on a virtual clock.
//!
//! A seed decides how many there are, their limits, and what goes wrong: connections end, with what is under way on them;
//! brokers and workers die with all they knew and start again; peers do not read for a while, so that outboxes are full;
//! messages of different connections overtake each other; some requests kill whoever does them. [`ledger::Ledger`] says what holds: each request of a client that
//! stays is answered once; a worker that lives does none twice; a request done once more is marked, and explained by a
//! death; once nothing goes wrong any more everything ends, and then nothing is left. A seed that fails is printed, with the
//! command that replays it and prints what happened.

mod client;
mod ledger;
mod net;
mod worker;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use world::{Kind, World};

/// The seed to replay, and whether to print what happens.
const SEED: &str = "HAIRSTREAK_SIMULATION_SEED";
const TRACE: &str = "HAIRSTREAK_SIMULATION_TRACE";
/// How many times as many seeds, drawn at random, make the long form.
const SOAK_FACTOR: u64 = 100;

fn simulate(kind: Kind, test: &str, count: u64) {
    let replayed: Option<u64> = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let is_traced = std::env::var_os(TRACE).is_some();
    let is_long = std::env::var_os("HAIRSTREAK_SOAK").is_some();
    let first = if is_long { fastrand::u64(..u64::MAX / 2) } else { 0 };
    let count = if is_long { count * SOAK_FACTOR } else { count };
    let seeds = replayed.map_or(first..first + count, |seed| seed..seed + 1);
    println!("seeds {seeds:?}");
    for seed in seeds {
        let mut world = World::new(kind, seed, is_traced);
        let result = catch_unwind(AssertUnwindSafe(|| world.run()));
        world.net.trace.iter().flatten().for_each(|line| println!("{line}"));
        assert!(
            result.is_ok(),
            "seed {seed}: to replay it and see what happens:\n    {TRACE}=1 {SEED}={seed} \
             cargo test -p hairstreak-broker --lib {test} -- --nocapture"
        );
    }
}

#[test]
fn each_request_is_answered_once_and_done_again_only_for_a_death() {
    simulate(Kind::Numbered, "each_request", 300);
}

#[test]
fn workers_without_a_memory_may_do_it_again_but_nobody_is_left_without_an_answer() {
    simulate(Kind::Mixed, "workers_without", 200);
}

#[test]
fn under_tight_limits_requests_are_refused_and_nothing_outgrows_them() {
    simulate(Kind::Tight, "under_tight", 200);
}

#[test]
fn what_kills_its_workers_is_refused_and_everything_else_is_answered() {
    simulate(Kind::Deadly, "what_kills", 200);
}

#[test]
fn a_seed_is_replayed_to_the_last_message() {
    for seed in 0..5 {
        let trace = || {
            let mut world = World::new(Kind::Mixed, seed, true);
            world.run();
            world.net.trace
        };
        assert!(trace() == trace(), "seed {seed} has two ways to go");
    }
}
