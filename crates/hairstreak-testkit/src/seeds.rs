//! `Seeds`: runs a world for many seeds, and prints how to replay a failing one.
//!
//! By default the seeds count from 0, so that a failure is the same on each machine. The long form of the tests draws
//! the first seed, and runs many times as many. A seed in the environment is replayed alone.

use std::env;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fastrand::Rng;

use crate::trace::Trace;

/// The variable with the seed to replay.
const SEED: &str = "HAIRSTREAK_SIMULATION_SEED";
/// The variable that turns the trace on.
const TRACE: &str = "HAIRSTREAK_SIMULATION_TRACE";
/// The variable that lengthens tests.
const SOAK: &str = "HAIRSTREAK_SOAK";

/// The seeds of one test binary.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// The arguments of `cargo test` that build this binary alone: `-p hairstreak-wire --test simulation`.
    pub target: &'static str,
    /// Factor by which the long form multiplies the number of seeds.
    pub soak_factor: u64,
}

impl Seeds {
    /// Runs `world` for `count` seeds. `test` is the part of the test's name that the replay command names.
    ///
    /// # Panics
    ///
    /// If `world` panics: the message has the seed, and the command that replays and traces the seed.
    pub fn check(&self, test: &str, count: u64, world: impl Fn(u64, Trace)) {
        let replayed = replayed_seed();
        let soak_factor = env::var_os(SOAK).map(|_| self.soak_factor);
        let trace = if env::var_os(TRACE).is_some() { Trace::Printed } else { Trace::Off };
        let seeds = choose(replayed, count, soak_factor);
        println!("seeds {seeds:?}");
        self.check_each(test, seeds, &trace, world);
    }

    fn check_each(&self, test: &str, seeds: Range<u64>, trace: &Trace, world: impl Fn(u64, Trace)) {
        for seed in seeds {
            let result = catch_unwind(AssertUnwindSafe(|| world(seed, trace.clone())));
            assert!(
                result.is_ok(),
                "seed {seed}: to replay it and see what happens:\n    {TRACE}=1 {SEED}={seed} \
                 cargo test {} {test} -- --nocapture",
                self.target
            );
        }
    }
}

/// A source of randomness for a test of real parts. The output of the test names the seed, and a seed in the environment is
/// replayed.
pub fn rng() -> Rng {
    let seed = replayed_seed().unwrap_or_else(|| fastrand::u64(..));
    println!("{SEED}={seed}");
    Rng::with_seed(seed)
}

/// The seed in the environment.
///
/// # Panics
///
/// If the variable is no number: another seed would pass for a replay.
fn replayed_seed() -> Option<u64> {
    let text = env::var(SEED).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{SEED}={text} is no number")))
}

fn choose(replayed: Option<u64>, count: u64, soak_factor: Option<u64>) -> Range<u64> {
    match (replayed, soak_factor) {
        (Some(seed), _) => seed..seed + 1,
        (None, None) => 0..count,
        (None, Some(factor)) => {
            let first = fastrand::u64(..u64::MAX / 2);
            first..first + count * factor
        }
    }
}

/// Runs each seed twice, and compares the traces that `world` returns.
///
/// # Panics
///
/// If a seed has two outcomes, or leaves no trace.
pub fn assert_replays(seeds: Range<u64>, world: impl Fn(u64, Trace) -> Trace) {
    for seed in seeds {
        let [first, second] = [(); 2].map(|()| world(seed, Trace::Kept(Vec::new())));
        assert!(!first.lines().is_empty(), "seed {seed} leaves no trace");
        let differs = first.lines().iter().zip(second.lines()).find(|(one, other)| one != other);
        assert!(first == second, "seed {seed} has two ways to go, first here: {differs:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    const SEEDS: Seeds = Seeds { target: "-p some-crate --lib", soak_factor: 40 };

    fn message_of(act: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(act)).expect_err("a panic");
        panic.downcast_ref::<String>().expect("a message").clone()
    }

    #[test]
    fn a_seed_that_fails_comes_with_the_command_that_replays_it() {
        let tried = RefCell::new(Vec::new());
        let world = |seed, _| {
            tried.borrow_mut().push(seed);
            assert!(seed != 3, "the check of the world");
        };
        let message = message_of(|| SEEDS.check_each("some_test", 0..10, &Trace::Off, world));
        assert_eq!(*tried.borrow(), [0, 1, 2, 3]);
        let command = "HAIRSTREAK_SIMULATION_TRACE=1 HAIRSTREAK_SIMULATION_SEED=3 \
                       cargo test -p some-crate --lib some_test -- --nocapture";
        assert!(message.starts_with("seed 3:") && message.ends_with(command), "{message}");
    }

    #[test]
    fn the_long_form_has_as_many_more_seeds_and_a_replay_has_one() {
        assert_eq!(choose(None, 300, None), 0..300);
        let long = choose(None, 300, Some(40));
        assert_eq!(long.end - long.start, 12_000);
        assert_eq!(choose(Some(7), 300, Some(40)), 7..8);
    }

    #[test]
    fn a_world_that_goes_another_way_the_second_time_is_found() {
        let count = Cell::new(0);
        let world = |seed, mut trace: Trace| {
            count.set(count.get() + 1);
            trace.note(seed, || if seed == 2 { count.get().to_string() } else { "same".into() });
            trace
        };
        assert_replays(0..2, world);
        let message = message_of(|| assert_replays(0..3, world));
        assert!(message.starts_with("seed 2"), "{message}");
        let message = message_of(|| assert_replays(0..1, |_, _| Trace::Off));
        assert!(message.contains("no trace"), "{message}");
    }
}
