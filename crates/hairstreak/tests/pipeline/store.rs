//! The store of a sink's results: a file with a line for each task's number, and behind each group a line with the seen
//! tasks.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use hairstreak::pipeline::{Done, SeenTasks};

/// The beginning of a line with seen tasks.
const SEEN: &str = "seen ";

pub struct Store(File);

impl Store {
    /// Opens the file, and removes a record that was not stored whole. Returns the last seen tasks.
    pub fn open(path: &str, remembers: bool) -> (Store, SeenTasks) {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        let (mut whole, mut seen) = (0, SeenTasks::default());
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            at += line.len();
            let Some(line) = line.strip_suffix('\n') else { break };
            if let Some(digits) = line.strip_prefix(SEEN) {
                let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
                let bytes = (0..digits.len()).step_by(2).map(byte).collect::<Vec<_>>();
                seen = SeenTasks::from_bytes(&bytes).unwrap();
            }
            if line.starts_with(SEEN) || !remembers {
                whole = at;
            }
        }
        file.set_len(whole as u64).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        (Store(file), seen)
    }

    /// Stores results and the seen tasks, in one write.
    pub fn append(&mut self, results: &[Done], seen: Option<SeenTasks>) {
        let mut lines = Vec::new();
        for done in results {
            lines.extend_from_slice(done.message.body());
            lines.push(b'\n');
        }
        if let Some(seen) = seen {
            lines.extend_from_slice(SEEN.as_bytes());
            for byte in seen.to_bytes() {
                write!(lines, "{byte:02x}").unwrap();
            }
            lines.push(b'\n');
        }
        self.0.write_all(&lines).unwrap();
    }
}

/// A file for a store, removed when it is dropped.
pub struct StoreFile(PathBuf);

impl StoreFile {
    pub fn new(name: &str) -> StoreFile {
        let path = std::env::temp_dir().join(format!("hairstreak-{}-{name}", std::process::id()));
        StoreFile(path)
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        std::fs::metadata(&self.0).unwrap().len() as usize
    }

    /// Returns the stored numbers, in order.
    pub fn numbers(&self) -> Vec<u64> {
        let text = std::fs::read_to_string(&self.0).unwrap();
        text.lines().filter(|line| !line.starts_with(SEEN)).map(|line| line.parse().unwrap()).collect()
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
