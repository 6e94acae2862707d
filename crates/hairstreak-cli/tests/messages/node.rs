//! `Place`: a data directory that keeps messages, for nodes one after the other.

use std::path::PathBuf;

use rustix::process::Signal;

use crate::daemon::{Daemon, End};
use crate::process::folder;

const CONFIG: &str = "store_messages = true\n[amqp]\nbind = [\"tcp://127.0.0.1:*\"]\n";

/// A data directory and a configuration.
pub struct Place {
    folder: PathBuf,
}

/// A node that runs. Dropped, the node gets SIGKILL.
pub struct Node {
    daemon: Daemon,
    /// The URL of AMQP.
    pub amqp: String,
}

impl Place {
    /// A new place.
    pub fn new(name: &str) -> Place {
        Place::with(name, "")
    }

    /// A new place for nodes with further lines in the section `amqp` of their configuration.
    pub fn with(name: &str, amqp: &str) -> Place {
        let folder = folder(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("node.toml"), format!("{CONFIG}{amqp}")).unwrap();
        Place { folder }
    }

    /// Starts a process, which may not serve yet.
    pub fn begin(&self) -> Daemon {
        let (data, config) = (self.folder.join("data"), self.folder.join("node.toml"));
        let words = ["--bind", "tcp://127.0.0.1:*", "--data-dir", data.to_str().unwrap()];
        Daemon::start("serve", &[&words[..], &["--config", config.to_str().unwrap()]].concat())
    }

    /// Starts a node, and waits until its clients can connect.
    #[track_caller]
    pub fn start(&self) -> Node {
        let mut daemon = self.begin();
        let line = daemon.line();
        assert!(line.starts_with("directory at "), "{line:?}: {:?}", daemon.end());
        let amqp = daemon.place("amqp").replace("tcp://", "amqp://");
        Node { daemon, amqp }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A failed test keeps its folder for inspection.
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

impl Node {
    /// kill -9.
    pub fn kill(self) {
        drop(self);
    }

    /// SIGTERM, and the end of the process.
    pub fn stop(self) -> End {
        self.daemon.end_by(Signal::TERM)
    }
}
