//! The node's own key for CURVE: made in the data directory, and printed at each start.

#[path = "../workbench/daemon.rs"]
#[allow(dead_code, reason = "shared with the tests of services, which look at its memory")]
mod daemon;

use std::fs;

use daemon::Daemon;
use hairstreak::{Component, Credentials, PublicKey};
use hairstreak_socket::security::generate_key_pair;
use rustix::process::Signal;

#[test]
fn a_node_keeps_its_key_in_its_data_directory_and_says_it() {
    let folder = std::env::temp_dir().join(format!("hairstreak-own-key-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let keys = generate_key_pair().unwrap();
    let config = folder.join("node.toml");
    let user = format!("[[users]]\nname = \"ann\"\npassword_hash = \"\"\ncurve = \"{}\"\n", keys.public());
    fs::write(&config, format!("require_login = true\n[amqp]\nbind = [\"tcp://127.0.0.1:*\"]\n{user}"))
        .unwrap();
    let (config, data) = (config.to_str().unwrap(), folder.join("data"));
    let words = ["--bind", "tcp://127.0.0.1:*", "--config", config, "--data-dir", data.to_str().unwrap()];
    let said = [(), ()].map(|()| {
        let mut serving = Daemon::start("serve", &words);
        let directory = serving.place("directory");
        serving.place("amqp");
        let key = loop {
            let line = serving.line();
            if let Some(key) = line.strip_prefix("public key of the directory and services: ") {
                break key.parse::<PublicKey>().unwrap();
            }
        };
        let credentials = Credentials::curve(keys.clone(), key);
        let node = Component::builder().directory(&directory).credentials(credentials).build().unwrap();
        assert_eq!(node.list("").unwrap(), []);
        assert_eq!(serving.end_by(Signal::TERM).status, Some(0));
        key
    });
    assert_eq!(said[0], said[1]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_key_file_that_makes_no_sense_is_one_line() {
    let folder = std::env::temp_dir().join(format!("hairstreak-bad-key-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let config = folder.join("node.toml");
    fs::write(&config, "[curve]\nsecret_key_file = \"node.key\"\n").unwrap();
    for (text, reason) in [(None, "No such file"), (Some("no key\n"), "this has 6")] {
        if let Some(text) = text {
            fs::write(folder.join("node.key"), text).unwrap();
        }
        let end =
            Daemon::start("serve", &["--bind", "tcp://127.0.0.1:*", "--config", config.to_str().unwrap()])
                .end();
        assert_eq!((end.status, end.errors.lines().count()), (Some(2), 1), "{end:?}");
        assert!(end.errors.contains("curve.secret_key_file: ") && end.errors.contains(reason), "{end:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}
