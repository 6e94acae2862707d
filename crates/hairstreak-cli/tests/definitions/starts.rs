//! Data directories that a node cannot start with: one line each, and a status of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use hairstreak_testkit::BoundedCommand;
use rustix::process::Signal;

use crate::client::Client;
use crate::daemon::End;
use crate::node::{Place, start_in};
use crate::process::HAIRSTREAK;

/// The line of a node that does not start.
#[track_caller]
fn refusal(End { status, output, errors }: End) -> String {
    assert_eq!((status, &*output), (Some(1), ""), "{errors}");
    let line = errors.strip_prefix("hairstreak: ").and_then(|rest| rest.strip_suffix('\n'));
    let line = line.unwrap_or_else(|| panic!("{errors:?}"));
    assert_eq!(line.lines().count(), 1, "{line}");
    line.to_owned()
}

#[test]
fn a_directory_that_is_in_use_stays_with_the_first_node() {
    let place = Place::new("in-use");
    let node = place.start();
    let said = refusal(place.begin().end());
    let expected = format!("the data directory {} is in use by process ", place.data().display());
    assert!(said.starts_with(&expected), "{said}");
    Client::connect(&node.amqp).unwrap();
    node.kill();
    // A dead node holds no lock.
    assert_eq!(place.start().stop().status, Some(0));
}

#[test]
fn a_directory_of_another_version_or_another_node_is_left_as_it_is() {
    let place = Place::new("other");
    assert_eq!(place.start().stop().status, Some(0));
    let (file, data) = (place.data().join("node"), place.data().display().to_string());
    let text = fs::read_to_string(&file).unwrap();

    fs::write(&file, text.replace("version 2", "version 7")).unwrap();
    let said = refusal(place.begin().end());
    let expected =
        format!("the data directory {data} has format version 7, and this program reads version 2: ");
    assert!(said.starts_with(&expected), "{said}");

    fs::write(&file, text.replace("node hairstreak@localhost", "node rabbit@far")).unwrap();
    let said = refusal(place.begin().end());
    let expected = format!(
        "the data directory {data} is of the node \"rabbit@far\", and this node is called \"hairstreak@localhost\": "
    );
    assert!(said.starts_with(&expected), "{said}");

    fs::write(&file, &text).unwrap();
    let definitions = place.data().join("definitions.redb");
    let whole = fs::read(&definitions).unwrap();
    let damaged: Vec<u8> = whole.iter().map(|byte| byte ^ 1).collect();
    fs::write(&definitions, &damaged).unwrap();
    let said = refusal(place.begin().end());
    assert!(said.starts_with(&format!("{} is damaged (", definitions.display())), "{said}");
    assert!(fs::read(&definitions).unwrap() == damaged);

    fs::write(&definitions, whole).unwrap();
    assert_eq!(place.start().stop().status, Some(0));
}

#[test]
fn a_place_that_is_no_data_directory_is_left_as_it_is() {
    let place = Place::new("none");
    fs::create_dir(place.data()).unwrap();
    fs::write(place.data().join("letters"), "dear").unwrap();
    let said = refusal(place.begin().end());
    let expected = format!("{} is not a data directory: it holds letters, ", place.data().display());
    assert!(said.starts_with(&expected), "{said}");
    assert_eq!(fs::read_dir(place.data()).unwrap().count(), 1);

    let file = place.data().join("letters");
    for path in [file.clone(), file.join("data")] {
        let said = refusal(start_in(&path, &place.config()).end());
        assert!(said.ends_with(" is not a directory: choose another path"), "{said}");
    }
}

#[test]
fn a_directory_that_the_node_is_not_permitted_to_use_is_said_to_be_one() {
    let place = Place::new("forbidden");
    assert_eq!(place.start().stop().status, Some(0));
    let (user, data) = (rustix::process::geteuid(), place.data());
    fs::set_permissions(&data, fs::Permissions::from_mode(0o0)).unwrap();
    // Root can open every file, unless it has given up this right.
    let restricted = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", HAIRSTREAK];
    let words = if user.is_root() { &restricted[..] } else { &restricted[3..] };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["serve", "--bind", "tcp://127.0.0.1:*", "--data-dir"]).arg(&data);
    let output = command.arg("--config").arg(place.config()).run_to_end();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
    let said = refusal(End {
        status: output.status.code(),
        output: String::from_utf8(output.stdout).unwrap(),
        errors: String::from_utf8(output.stderr).unwrap(),
    });
    let expected = format!("user {} is not permitted to read and write {}", user.as_raw(), data.display());
    assert!(said.starts_with(&expected), "{said}");
}

#[test]
fn a_node_that_is_stopped_while_it_starts_leaves_a_directory_that_starts() {
    let place = Place::new("brief");
    for _ in 0..5 {
        let starting = place.begin();
        starting.end_by(Signal::KILL);
    }
    let node = place.start();
    // The first user is complete, even if the first start ended early.
    Client::connect(&node.amqp).unwrap();
    assert_eq!(node.stop().status, Some(0));
}
