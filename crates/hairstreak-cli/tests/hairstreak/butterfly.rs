//! The five set-ups of the tutorial, all at the same time: a bit more than the 75 seconds of the
//! slowest, up to three times on a busy machine.

use std::process::{Child, Command, Stdio};

use crate::harness::{HAIRSTREAK, Outcome, checkout};

/// The topology's file, what the tutorial measured, and what cannot be exceeded: the ideal rounded up.
type Setup = (&'static str, f64, f64);

const SETUPS: [Setup; 5] = [
    ("one-one", 1.928, 1.981),
    ("two-two", 3.780, 3.922),
    ("three-three", 5.584, 5.715),
    ("two-one", 1.972, 1.981),
    ("uneven", 1.297, 1.329),
];

/// What else runs on the machine can only lower a throughput: set-ups below the tutorial's are measured
/// again, so often in all.
const ATTEMPTS_MAX: usize = 3;

fn start(name: &str) -> Child {
    let file = checkout("examples/butterfly/topologies").join(format!("{name}.toml"));
    let mut command = Command::new(HAIRSTREAK);
    command.arg("run").arg(file).arg("--json").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs the set-ups at the same time and returns those that were slower than the tutorial's, or whose
/// prediction was more than 3% off.
fn slower_ones(setups: Vec<Setup>) -> Vec<Setup> {
    let running: Vec<_> = setups.into_iter().map(|setup| (setup, start(setup.0))).collect();
    let mut slower = Vec::new();
    for (setup, process) in running {
        let (name, tutorial, ideal) = setup;
        let report = Outcome::from(process.wait_with_output().unwrap()).succeeded().json();
        assert_eq!(report["messages"], 100);
        let measured = report["throughput_per_s"].as_f64().unwrap();
        let predicted = report["predicted_per_s"].as_f64().unwrap();
        println!("{name}: {predicted} predicted, {measured} measured");
        assert!(measured <= ideal, "{name}: {measured} is above {ideal}");
        if measured < tutorial || (predicted / measured - 1.0).abs() >= 0.03 {
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
