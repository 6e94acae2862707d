//! Deterministic simulation of services: HSN1 clients with several brokers, workers with reply caches and plain workers
//! without. The [`Broker`]s are real and the clock is virtual. Workers cut the same reply differently.
//!
//! A seed determines the number of parties, their limits, and the faults: connections end and lose their messages;
//! brokers and workers die with all their state and start again; peers do not read for a while, so that outboxes are
//! full; messages of different connections overtake each other; some requests kill their workers.
//!
//! [`ledger::Ledger`] checks the guarantees. Each request of a client that stays is answered once, by parts of one
//! worker's reply. A worker that lives does no request twice. A request done again is marked, and explained by a death.
//! Without further faults all work ends, and no state is left. A failing seed is printed, with the command that replays
//! it and prints the trace.

mod client;
mod ledger;
mod net;
mod worker;
mod world;

use hairstreak_testkit::{Seeds, Trace, assert_replays};
use world::{Kind, World};

const SEEDS: Seeds = Seeds { target: "-p hairstreak-broker --lib", soak_factor: 100 };

fn simulate(kind: Kind, test: &str, count: u64) {
    SEEDS.check(test, count, |seed, trace| drop(run(kind, seed, trace)));
}

/// Runs a world and returns its trace.
fn run(kind: Kind, seed: u64, trace: Trace) -> Trace {
    let mut world = World::new(kind, seed, trace);
    world.run();
    world.net.sim.trace
}

#[test]
fn each_request_is_answered_once_and_done_again_only_for_a_death() {
    simulate(Kind::Hsn1, "each_request", 300);
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
    assert_replays(0..5, |seed, trace| run(Kind::Mixed, seed, trace));
}
