//! `hairstreak fabric` on the command line.

#[path = "workbench/daemon.rs"]
#[expect(dead_code, reason = "a process id matters to others")]
mod daemon;

use std::process::Command;

use daemon::Daemon;
use hairstreak_testkit::BoundedCommand;
use rustix::process::Signal;

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
