//! The five set-ups of the tutorial, all at the same time: a bit more than the 75 seconds of the
//! slowest.

use std::process::{Command, Stdio};

use crate::harness::{HAIRSTREAK, Outcome, checkout};

/// The topology, what the tutorial measured, and what cannot be exceeded: the ideal rounded up.
const SETUPS: [(&str, f64, f64); 5] = [
    ("one-one", 1.928, 1.981),
    ("two-two", 3.780, 3.922),
    ("three-three", 5.584, 5.715),
    ("two-one", 1.972, 1.981),
    ("uneven", 1.297, 1.329),
];

#[test]
fn the_five_setups_of_the_tutorial() {
    let folder = checkout("examples/butterfly/topologies");
    let count = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(count, SETUPS.len(), "one topology for each measured set-up");
    let running: Vec<_> = SETUPS
        .iter()
        .map(|(name, ..)| {
            let file = folder.join(format!("{name}.toml"));
            let mut command = Command::new(HAIRSTREAK);
            command.arg("run").arg(file).arg("--json").stdin(Stdio::null());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for ((name, tutorial, ideal), process) in SETUPS.into_iter().zip(running) {
        let report = Outcome::from(process.wait_with_output().unwrap()).succeeded().json();
        assert_eq!(report["messages"], 100);
        let measured = report["throughput_per_s"].as_f64().unwrap();
        assert!((tutorial..=ideal).contains(&measured), "{name}: {tutorial} <= {measured} <= {ideal}");
        let predicted = report["predicted_per_s"].as_f64().unwrap();
        assert!(
            (predicted / measured - 1.0).abs() < 0.03,
            "{name}: {predicted} predicted, {measured} measured"
        );
    }
}
