//! `Place`: a data directory that keeps messages, for nodes one after the other.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use rustix::process::Signal;

use crate::daemon::{Daemon, End};
use crate::process::folder;

const CONFIG: &str = "amqp.bind = [\"tcp://127.0.0.1:*\"]\n";

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
        Place::at(folder(name), "")
    }

    /// A new place at that path. `settings`: further lines of the configuration.
    pub fn at(folder: PathBuf, settings: &str) -> Place {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("node.toml"), format!("{settings}{CONFIG}")).unwrap();
        Place { folder }
    }

    /// Writes a file that leaves at most so many bytes of the disk free. Returns its path.
    pub fn fill(&self, free_bytes: u64) -> PathBuf {
        let path = self.folder.join("filler");
        // The filler from before counts as free.
        let _ = std::fs::remove_file(&path);
        let mut file = File::create(&path).unwrap();
        while let size @ 1.. = self.free_bytes().saturating_sub(free_bytes) {
            match file.write(&vec![1; size as usize]) {
                // A node has taken the rest.
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                written => drop(written.unwrap()),
            }
        }
        path
    }

    /// The free bytes of the disk.
    pub fn free_bytes(&self) -> u64 {
        let disk = rustix::fs::statvfs(&self.folder).unwrap();
        disk.f_bavail * disk.f_frsize
    }

    /// Returns the data directory.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Starts a process, which may not serve yet.
    pub fn begin(&self) -> Daemon {
        let (data, config) = (self.data(), self.folder.join("node.toml"));
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

    /// The largest memory of the process so far, in bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.daemon.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1_024
    }

    /// SIGTERM, and the end of the process.
    pub fn stop(self) -> End {
        self.daemon.end_by(Signal::TERM)
    }
}
