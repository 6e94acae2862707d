//! `hairstreak simulate` and `hairstreak calibrate`: their tables, their JSON, and their errors.

use std::process::Command;

use hairstreak_testkit::BoundedCommand;
use serde_json::Value;

use crate::harness::{HAIRSTREAK, Job, Outcome, checkout};

const TWO_STEPS: &str =
    "[[stage]]\nname = 'first'\nspin = '12us'\n[[stage]]\nname = 'second'\nspin = '8us'\n";
/// A machine on which a message that travels alone costs 10 us of work and 10 us of latency.
const MACHINE: &str = "cores = 2\nwake_up_ns = 50000\ngather_ns = 50000\ngather_bytes = 65536\n[[tcp]]\nsize = 64\n\
                       send_alone_ns = 5000.0\nreceive_alone_ns = 5000.0\nsend_ns = 100.0\nreceive_ns = 100.0\n\
                       latency_ns = 10000.0\n";

fn simulate(job: &Job, options: &[&str]) -> Outcome {
    job.command("simulate", options).run_to_end().into()
}

fn simulated(job: &Job, options: &[&str]) -> Value {
    let options: Vec<&str> = options.iter().copied().chain(["--json"]).collect();
    simulate(job, &options).succeeded().json()
}

fn check(job: &Job, options: &[&str], words: &[&str]) {
    let text = simulate(job, options).succeeded().stdout;
    for word in words {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
}

#[test]
fn the_five_setups_of_the_tutorial() {
    for (name, rate) in [
        ("one-one", "1.980"),
        ("two-two", "3.922"),
        ("three-three", "5.714"),
        ("two-one", "1.980"),
        ("uneven", "1.329"),
    ] {
        let file = checkout("examples/butterfly/topologies").join(format!("{name}.toml"));
        let outcome = Command::new(HAIRSTREAK).arg("simulate").arg(file).run_to_end();
        let text = Outcome::from(outcome).succeeded().stdout;
        assert!(text.contains(&format!(": {rate} messages/s, ")), "{name} is not {rate}:\n{text}");
    }
}

#[test]
fn the_text_names_the_bottleneck_and_the_first_change() {
    check(
        &Job::new(TWO_STEPS),
        &["--messages", "50000"],
        &[
            "What holds the rate: the instances of first.",
            "To change first:\n  first: instances = 2: 125,000 messages/s, +50%",
            "50,000 messages in 600.008 ms: 83,332 messages/s",
            "messages cost nothing",
        ],
    );
    let crowded = Job::new(&format!("{TWO_STEPS}[plan]\ncores = 1\n"));
    check(&crowded, &[], &["What holds the rate: the cores.", "To change first:\n  cores = 2: "]);
}

#[test]
fn a_window_that_stalls_is_named() {
    let job = Job::new(&format!(
        "{TWO_STEPS}[plan]\nhop = '100us'\nwiring = 'direct'\nwindow = 10\nacknowledge = 10\n"
    ));
    check(&job, &[], &["What holds the rate: the window.", "In flight: ", ", 10 at most.", "window = 20"]);
}

#[test]
fn messages_that_come_by_chance_wait_as_theory_says() {
    let topology =
        "[[stage]]\nname = 'work'\nspin = '1ms'\ndistribution = 'exponential'\n[plan]\nrate = 500.0\n";
    let simulation = simulated(&Job::new(topology), &[]);
    let mean = simulation["latency"]["mean_s"].as_f64().unwrap();
    assert!((mean / 2e-3 - 1.0).abs() < 0.05, "M/M/1 at half load: {mean}");
    assert_eq!(simulation["bottleneck"]["what"], "input");
    check(&Job::new(topology), &[], &["nothing, for messages come more slowly", "99 of 100 take"]);
    let busier = simulated(&Job::new(topology), &["--rate", "800"]);
    assert!(busier["latency"]["mean_s"].as_f64().unwrap() > 4e-3, "{busier}");
}

#[test]
fn the_seed_decides() {
    let job = Job::new("[[stage]]\nname = 'work'\nspin = '1ms'\ndistribution = 'uniform'\n");
    let with = |seed: &str| simulated(&job, &["--messages", "1000", "--seed", seed]);
    assert_eq!(with("7"), with("7"));
    assert_ne!(with("7")["makespan_s"], with("8")["makespan_s"]);
}

#[test]
fn a_machine_costs_what_its_file_says() {
    let job = Job::new("[[stage]]\nname = 'work'\nspin = '1ms'\n").with("machine.toml", MACHINE);
    let one = simulated(&job, &["--machine", "machine.toml", "--messages", "1"]);
    assert_eq!(one["makespan_s"], 1.04e-3, "two links of 20 us each, and the work");
    assert_eq!(one["network"], "tcp, as calibrated");
    let sleeping = Job::new("[[stage]]\nname = 'wait'\nsleep = '1ms'\n").with("machine.toml", MACHINE);
    let one = simulated(&sleeping, &["--machine", "machine.toml", "--messages", "1"]);
    assert_eq!(one["makespan_s"], 1.09e-3, "and the sleeper wakes up 50 us late");
}

#[test]
fn a_thousand_ports_are_simulated() {
    let topology = "[[stage]]\nname = 'extract'\ninstances = 600\nspin = '600us'\n\
                    [[stage]]\nname = 'reduce'\ninstances = 400\nspin = '300us'\n";
    let simulation = simulated(&Job::new(topology), &["--network", "vortex 256x4", "--messages", "20000"]);
    assert_eq!(simulation["network"], "vortex 256x4");
    let steady = simulation["steady_per_s"].as_f64().unwrap();
    assert!((steady / 1e6 - 1.0).abs() < 0.05, "{steady}");
}

#[test]
fn mistakes_are_one_line_with_the_culprit() {
    let job = Job::new(TWO_STEPS).with("machine.toml", "cores = 2\n");
    for (options, named) in [
        (&["--machine", "none.toml"][..], "none.toml: cannot read the calibration: No such file"),
        (&["--machine", "machine.toml"], "machine.toml: missing field `wake_up_ns`"),
        (&["--network", "torus 3"], "\"torus 3\" is no network; there are \"vortex HEIGHTSxANGLES\""),
        (&["--network", "vortex 2x1"], "job.toml: 4 ports are needed"),
        (&["--messages", "0"], "0 is not in 1..="),
    ] {
        let outcome = simulate(&job, options);
        let refusal = outcome.refusal(2);
        assert!(refusal.contains(named), "{options:?} was refused by {refusal:?}");
    }
    let untimed = Job::new("[[stage]]\nname = 'a'\ncommand = ['cat']\nframing = 'lines'\n");
    let outcome = simulate(&untimed, &[]);
    assert!(outcome.refusal(2).contains("stage \"a\": no time is known"), "{outcome:?}");
}

#[test]
fn what_calibrate_writes_simulate_reads() {
    let job = Job::new(TWO_STEPS);
    let calibrate = |options: &[&str]| {
        let mut command = Command::new(HAIRSTREAK);
        command.arg("calibrate").args(options).current_dir(&job.folder);
        Outcome::from(command.run_to_end())
    };
    let text = calibrate(&["--repeat", "1", "--no-splits", "--output", "machine.toml"]).succeeded().stdout;
    assert!(text.contains("Time on a core for each message:") && text.contains("131,072"), "{text}");
    assert!(!text.contains("Two stages"), "{text}");
    let simulation = simulated(&job, &["--machine", "machine.toml", "--messages", "1000"]);
    assert_eq!(simulation["messages"], 1000);
    let outcome = calibrate(&["--repeat", "1", "--no-splits", "--output", "no/machine.toml"]);
    assert!(outcome.refusal(1).starts_with("cannot write no/machine.toml: No such file"), "{outcome:?}");
}

#[test]
fn splits_are_measured_for_each_work_and_transport() {
    let mut command = Command::new(HAIRSTREAK);
    let outcome = command.args(["calibrate", "--repeat", "1", "--json"]).run_to_end();
    let figures = Outcome::from(outcome).succeeded().json();
    let splits = figures["splits"].as_array().unwrap();
    let works: Vec<u64> = splits.iter().map(|split| split["work_us"].as_u64().unwrap()).collect();
    assert_eq!(works, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]);
    for split in splits {
        let rates = split["rates"].as_array().unwrap();
        let transports: Vec<&str> = rates.iter().map(|rate| rate["transport"].as_str().unwrap()).collect();
        assert_eq!(transports, ["inproc", "shm", "ipc", "tcp"]);
        assert!(rates.iter().all(|rate| rate["times"].as_f64().unwrap() > 0.0), "{split}");
    }
    assert!(figures["tcp"].as_array().is_some_and(|sizes| sizes.len() == 5), "{figures}");
}

#[test]
fn a_spin_takes_its_time_whatever_its_distribution() {
    let job = |keys: &str| Job::new(&format!("[[stage]]\nname = 'work'\n{keys}[input]\nmessages = 100\n"));
    let report = job("spin = '2ms'\n").measure();
    assert_eq!(report["messages"], 100);
    assert!(report["throughput_per_s"].as_f64().unwrap() <= 500.0, "{report}");
    for distribution in ["uniform", "exponential", "log-normal 0.5"] {
        let report = job(&format!("spin = '10us'\ndistribution = '{distribution}'\n")).measure();
        assert_eq!(report["messages"], 100, "{distribution}");
    }
}
