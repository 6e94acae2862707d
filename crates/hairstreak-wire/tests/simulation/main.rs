//! Pipelines in a deterministic simulator: a ventilator, workers and a sink, joined by the real state machines of
//! settlement ([`SendingLink`], [`ReceivingLink`], [`Redelivery`], [`Seen`]) and their bytes, on a virtual clock. The sink
//! reports to the ventilator what is done, and hears from it which tasks are left and which were refused.
//!
//! A seed decides the sizes, the limits and the faults: bytes arrive late and torn; links are cut, are half open and
//! come back; parties crash with all their state, pause, leave and join; tasks are released, rejected and kill the workers
//! that begin them; hostile ends lose, double and swap frames. [`ledger::Ledger`] checks the guarantees: each result is
//! delivered once, in order if requested, or its task is refused; window, credit and memory are bounded; and after the last
//! fault, everything ends. A seed that fails is printed, with the command that replays it and
//! prints the events.
//!
//! Deliberate bugs that it finds, with the first failing seed of a kind:
//!
//! | broken | seeds |
//! |---|---|
//! | lost messages are not marked as delivered; a lost link's first message is forgotten; X-END counts one more; a task is sent once more than is allowed; by name, the last task is not settled | 1 |
//! | credit is not told; nothing is told before sleep; the floor is one too high | 2 |
//! | `through` settles one more; the sender's runs are forgotten one too far | 3 |
//! | no task travels alone | 4 |
//! | a result is taken twice; a released message is not sent again | 5 or 6 |
//! | in order, a result comes one too early, or a second one is not settled; by name, one more is settled; the receiver's runs are forgotten one too far | 7 or 8 |
//! | settlements above `through` are not remembered; X-DRAIN is ignored | 14 or 15 |
//! | in order, a suspect waits for messages that wait for it (a former bug) | 16 |
//! | a sink's rejection does not reach the ventilator | 50 |
//! | of X-DONE, one more is done; the sink ignores REFUSED | 1 |
//! | lazy settlements are never sent; the sink ignores LEFT | 24 |
//! | a task is reported that has not been delivered | 73 or 763 |
//! | a result that is dropped, as its task was refused, is reported as done | 350 |
//! | a waiting result that is refused, or a result for a refused task, is not settled | 119 or 230 |
//! | results wait to travel alone (a former bug) | 1245 |
//! | results are passed on again while under way, in order (a former bug) | about 250,000: in the long form |
//!
//! [`SendingLink`]: hairstreak_wire::settlement::SendingLink
//! [`ReceivingLink`]: hairstreak_wire::settlement::ReceivingLink
//! [`Redelivery`]: hairstreak_wire::settlement::Redelivery
//! [`Seen`]: hairstreak_wire::settlement::Seen

mod endpoint;
mod ledger;
mod net;
mod pull;
mod push;
mod scenario;
mod sink;
mod ventilator;
mod worker;
mod world;

use hairstreak_testkit::{Seeds, Trace, assert_replays};
use scenario::Kind;
use world::World;

const SEEDS: Seeds = Seeds { target: "-p hairstreak-wire --test simulation", soak_factor: 40 };

fn simulate(kind: Kind, test: &str, count: u64) {
    SEEDS.check(test, count, |seed, trace| drop(run(kind, seed, trace)));
}

/// Returns the events.
fn run(kind: Kind, seed: u64, trace: Trace) -> Trace {
    let mut world = World::new(kind, seed, trace);
    world.run();
    world.net.sim.trace
}

#[test]
fn each_result_comes_once_whatever_is_cut_delayed_or_dies() {
    simulate(Kind::Faults, "each_result", 6000);
}

#[test]
fn refused_tasks_hold_up_nobody() {
    simulate(Kind::Refusals, "refused", 1000);
}

#[test]
fn poison_costs_its_deliveries_and_takes_no_other_task_with_it() {
    simulate(Kind::Poison, "poison", 1000);
}

#[test]
fn ends_that_break_the_rules_stop_nobody_else() {
    simulate(Kind::Hostile, "ends", 2000);
}

#[test]
fn a_seed_is_replayed_to_the_last_byte() {
    assert_replays(0..20, |seed, trace| run(Kind::Faults, seed, trace));
}
