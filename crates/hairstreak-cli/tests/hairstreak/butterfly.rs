//! The five set-ups of the tutorial, all at the same time: a bit more than the 75 seconds of the
//! slowest, at most five times on a busy machine.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hairstreak_testkit::{BoundedChild, beside_a_sleeper};

use crate::harness::{HAIRSTREAK, Outcome, checkout};

/// The topology file, the rate measured by the tutorial, the upper bound of the rate (the ideal rounded up), and the number of
/// sleeps of an instance of the slowest step.
type Setup = (&'static str, f64, f64, f64);

const SETUPS: [Setup; 5] = [
    ("one-one", 1.928, 1.981, 100.0),
    ("two-two", 3.780, 3.922, 50.0),
    ("three-three", 5.584, 5.715, 34.0),
    ("two-one", 1.972, 1.981, 100.0),
    ("uneven", 1.297, 1.329, 100.0),
];

/// The largest number of measurements. Other load on the machine can only lower a throughput: the delay of wake-ups is measured
/// and taken out of a result, and set-ups below the tutorial's rate are measured again.
const ATTEMPTS_MAX: usize = 5;
/// The approximate sleep of a step.
const SLEEP_TIME: Duration = Duration::from_millis(500);

fn start(name: &str) -> Child {
    let file = checkout("examples/butterfly/topologies").join(format!("{name}.toml"));
    let mut command = Command::new(HAIRSTREAK);
    command.arg("run").arg(file).arg("--json").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs the set-ups at the same time. Returns the set-ups that were slower than in the tutorial, or whose
/// prediction was more than 3% off.
fn slower_ones(setups: Vec<Setup>) -> Vec<Setup> {
    let running: Vec<_> = setups.iter().map(|setup| start(setup.0)).collect();
    let wait = |process: Child| Outcome::from(process.end_with_output()).succeeded().json();
    let (reports, lateness) =
        beside_a_sleeper(SLEEP_TIME, || running.into_iter().map(wait).collect::<Vec<_>>());
    let mut slower = Vec::new();
    for (setup, report) in setups.into_iter().zip(reports) {
        let (name, tutorial, ideal, sleep_count) = setup;
        assert_eq!(report["messages"], 100);
        let measured = report["throughput_per_s"].as_f64().unwrap();
        let predicted = report["predicted_per_s"].as_f64().unwrap();
        let late_s = sleep_count * lateness.as_secs_f64();
        println!("{name}: {predicted} predicted, {measured} measured, {late_s:.3} s of late wake-ups");
        assert!(measured <= ideal, "{name}: {measured} is above {ideal}");
        if 100.0 / measured - late_s > 100.0 / tutorial || (predicted / measured - 1.0).abs() >= 0.03 {
            slower.push(setup);
        }
    }
    slower
}

#[test]
fn the_five_setups_of_the_tutorial() {
    let count = std::fs::read_dir(checkout("examples/butterfly/topologies")).unwrap().count();
    assert_eq!(count, SETUPS.len(), "one topology for each measured set-up");
    let left = (0..ATTEMPTS_MAX).fold(SETUPS.to_vec(), |setups, _| slower_ones(setups));
    assert!(left.is_empty(), "never as fast as the tutorial's, or as predicted: {left:?}");
}
