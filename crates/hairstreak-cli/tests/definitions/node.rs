//! `Node`: a node with a data directory.

use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::daemon::{Daemon, End};
use crate::process::folder;

const CONFIG: &str = "[amqp]\nbind = [\"tcp://127.0.0.1:*\"]\n[http]\nbind = [\"tcp://127.0.0.1:*\"]\n";

/// A data directory and a configuration, for nodes one after the other.
pub struct Place {
    pub folder: PathBuf,
}

/// A node that runs. Dropped, the node gets SIGKILL.
pub struct Node {
    daemon: Daemon,
    /// HOST:PORT of AMQP.
    pub amqp: String,
    /// The URL of operators' HTTP.
    pub http: String,
}

impl Place {
    /// A new place.
    pub fn new(name: &str) -> Place {
        Place::at(folder(name))
    }

    /// A new place at that path.
    pub fn at(folder: PathBuf) -> Place {
        std::fs::create_dir_all(&folder).unwrap();
        let place = Place { folder };
        std::fs::write(place.config(), CONFIG).unwrap();
        place
    }

    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub fn config(&self) -> PathBuf {
        self.folder.join("node.toml")
    }

    /// Starts a process, which may not be there yet.
    pub fn begin(&self) -> Daemon {
        start_in(&self.data(), &self.config())
    }

    /// Starts a node, and waits until its clients can connect.
    #[track_caller]
    pub fn start(&self) -> Node {
        let mut daemon = self.begin();
        let line = daemon.line();
        assert!(line.starts_with("directory at "), "{line:?}: {:?}", daemon.end());
        let amqp = daemon.place("amqp").replace("tcp://", "");
        let http = daemon.place("http");
        Node { daemon, amqp, http }
    }
}

/// `hairstreak serve` with this data directory.
pub fn start_in(data: &Path, config: &Path) -> Daemon {
    let words = ["--bind", "tcp://127.0.0.1:*", "--data-dir", data.to_str().unwrap()];
    Daemon::start("serve", &[&words[..], &["--config", config.to_str().unwrap()]].concat())
}

impl Node {
    /// kill -9. Returns the log.
    pub fn kill(self) -> String {
        self.daemon.end_by(Signal::KILL).errors
    }

    /// The memory of the process, in bytes.
    pub fn memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.daemon.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
    }

    pub fn stop(self) -> End {
        self.daemon.end_by(Signal::TERM)
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
