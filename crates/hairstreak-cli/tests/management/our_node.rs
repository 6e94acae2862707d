//! `OurNode`: `hairstreak serve` on a machine of its own, at its default ports.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::network::within;
use crate::process::{HAIRSTREAK, folder};

/// A node that runs. Dropped, the node gets SIGKILL, and its folder is removed.
pub struct OurNode {
    child: Child,
    folder: PathBuf,
}

impl OurNode {
    /// Starts a node in a namespace, and waits until it listens. Its environment has `variables`, such as `NAME=value`. It loads
    /// `definitions` unless there are none.
    pub fn start(namespace: &str, variables: &[&str], definitions: &str) -> OurNode {
        let folder = folder("machine");
        let log = fs::File::create(folder.join("log")).unwrap();
        let mut words = [&within(namespace)[..], &["env"], variables, &[HAIRSTREAK, "serve"]].concat();
        let config = folder.join("node.toml");
        if !definitions.is_empty() {
            fs::write(folder.join("definitions.json"), definitions).unwrap();
            fs::write(&config, "load_definitions = \"definitions.json\"\n").unwrap();
            words.extend(["--config", config.to_str().unwrap()]);
        }
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("XDG_STATE_HOME", &folder);
        let child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut node = OurNode { child, folder };
        let mut lines = BufReader::new(node.child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line == "Server startup complete"), "{}", node.log());
        node
    }

    /// The log of the node.
    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap()
    }
}

impl Drop for OurNode {
    fn drop(&mut self) {
        // The node may have ended already, which fails the test.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("{}", self.log());
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
