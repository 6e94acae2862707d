//! Random operations by seed against a plain model: vectors that are searched from end to end.
//!
//! - `rules`: which queues there are, and how they behave
//! - `plain`, `consumers`, `policies`: the model
//! - `world`: the virtual host and the model side by side, and the operations on both

mod consumers;
mod plain;
mod policies;
mod rules;
mod world;

use hairstreak_testkit::Seeds;
use world::World;

const SEEDS: Seeds = Seeds { target: "-p hairstreak-broker --lib", soak_factor: 1_000 };

#[test]
fn random_operations_have_the_effects_of_the_plain_model() {
    SEEDS.check("random_operations", 100, |seed, trace| {
        let is_traced = matches!(trace, hairstreak_testkit::Trace::Printed);
        World::new(seed, is_traced).run(700);
    });
}
