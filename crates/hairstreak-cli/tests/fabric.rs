//! `hairstreak fabric` on the command line.

#[path = "workbench/daemon.rs"]
#[expect(dead_code, reason = "a process id matters to others")]
mod daemon;

use std::path::PathBuf;
use std::process::{Command, Output};

use daemon::Daemon;
use hairstreak_testkit::BoundedCommand;
use rustix::process::Signal;

fn study(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hairstreak"));
    let quick: &[&str] = if words.contains(&"--scale") { &[] } else { &["--scale", "0.001"] };
    command.args(["fabric", "study"]).args(quick).args(words).run_to_end()
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fabric-{}-{name}", std::process::id()))
}

#[test]
fn a_study_is_the_same_on_any_number_of_threads_and_another_by_another_seed() {
    let [one, many, other] = [&["--threads", "1"][..], &["--threads", "5"], &["--seed", "2"]].map(|words| {
        let output = study(&[&["--json"], words].concat());
        assert!(output.status.success(), "{output:?}");
        output.stdout
    });
    assert!(one == many && one != other);
    let json: serde_json::Value = serde_json::from_slice(&one).unwrap();
    for (part, rows) in [
        ("saturation", 49),
        ("one_angle", 15),
        ("scaling", 15),
        ("loads", 25),
        ("patterns", 15),
        ("lanes", 5),
    ] {
        assert_eq!(json[part].as_array().unwrap().len(), rows, "{part}");
    }
}

#[test]
fn a_study_prints_its_tables_and_draws_its_charts() {
    let folder = folder("charts");
    let output = study(&["--charts", folder.join("new/charts").to_str().unwrap()]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("vortex 1024x4") && text.contains("2/9 = 0.2222"), "{text}");
    let drawn = text.lines().filter_map(|line| line.strip_prefix("drawn: "));
    let count =
        drawn.map(|file| assert!(std::fs::read_to_string(file).unwrap().ends_with("</svg>\n"))).count();
    assert_eq!(count, 3);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_makes_no_sense_is_one_line() {
    let file = folder("file");
    std::fs::write(&file, "").unwrap();
    let file_text = file.to_str().unwrap();
    for (words, status, reason) in [
        (&["--threads", "0"][..], 2, "hairstreak: invalid value '0' for '--threads <N>'"),
        (&["--scale", "0"], 2, "hairstreak: invalid value '0' for '--scale <PART>'"),
        (&["--seed", "-1"], 2, "hairstreak: unexpected argument '-1'"),
        (&["--charts", file_text], 1, "hairstreak: cannot make"),
    ] {
        let output = study(words);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), errors.lines().count()), (Some(status), 1), "{errors}");
        assert!(errors.starts_with(reason), "{errors}");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_fabric_that_cannot_be_is_one_line() {
    let name = format!("refused-{}", std::process::id());
    for (words, status, said) in [
        (&["a b"][..], 2, "\"a b\" is no name for a fabric"),
        (&[&name, "--heights", "5"], 2, "5 heights: a power of two"),
        (&[&name, "--angles", "0"], 2, "0 angles"),
        (&[&name, "--networks", "65"], 2, "65 networks"),
        (&[&name, "--heights", "65536", "--angles", "4096"], 2, "268435456 cards: 1 to 4096"),
    ] {
        let end = Daemon::start("fabric", &[&["serve"], words].concat()).end();
        assert_eq!((end.status, end.output.as_str()), (Some(status), ""), "{end:?}");
        assert!(end.errors.contains(said) && end.errors.lines().count() == 1, "{end:?}");
    }
}

#[test]
fn a_node_says_once_that_its_fabric_is_gone_and_serves_at_the_next_one() {
    let name = format!("gone-{}", std::process::id());
    let start = || {
        let mut fabric = Daemon::start("fabric", &["serve", &name, "--heights", "4", "--angles", "2"]);
        assert_eq!(
            fabric.place(&format!("fabric {name}")),
            format!("vortex://{name}/RANK:PORT with ranks 0 to 7")
        );
        fabric
    };
    let first = start();
    let twice = Daemon::start("fabric", &["serve", &name]).end();
    assert_eq!(
        (twice.status, twice.errors),
        (Some(1), format!("hairstreak: fabric \"{name}\" runs already on this host\n"))
    );
    let place = format!("vortex://{name}/0:5555");
    let mut node =
        Daemon::start("serve", &["--bind", "tcp://127.0.0.1:*", "--no-amqp", "--services", &place]);
    let directory = node.place("directory");
    assert_eq!(node.place("services"), place);
    // The fabric dies as after kill -9.
    drop(first);
    assert_eq!(
        node.logged(),
        format!(
            "[warning] nobody is accepted, trying again endpoint={place} reason=\"the fabric \\\"{name}\\\" is gone\""
        )
    );
    let second = start();
    let services = |place: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hairstreak"));
        command.args(["services", "--broker", place]).run_to_end()
    };
    assert!(services(&format!("vortex://{name}/3;0:5555")).status.success());
    assert_ne!(directory, "");
    let end = node.end_by(Signal::TERM);
    assert_eq!((end.status, end.errors.as_str()), (Some(0), ""), "told once");
    let end = second.end_by(Signal::INT);
    assert_eq!(end.status, Some(0));
    assert!(end.errors.contains(" cells in ") && end.errors.contains("of the fabric's time"), "{end:?}");
}
