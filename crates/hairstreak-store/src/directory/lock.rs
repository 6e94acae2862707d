//! The lock of a data directory: a file that one process holds, with the number of that process in it.
//!
//! The kernel gives the lock back when its holder is gone, however the holder died. The file stays: removing it would let two
//! processes lock two files of the same name.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::DataDirectoryError;

/// The file in the data directory.
pub(super) const FILE_NAME: &str = "lock";
/// A process id and the name of a host (64 bytes on Linux) are shorter.
const HOLDER_SIZE_MAX: u64 = 128;

/// Holds the directory until it is dropped.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    // The lock goes with the last descriptor of this open file.
    _file: File,
}

/// The process that holds a data directory, as far as the directory says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockHolder {
    /// Its process id, in the process namespace of its host or container.
    pub process: Option<u32>,
    /// The name of its host or container, unless that is this one.
    pub host: Option<String>,
}

impl DirectoryLock {
    /// Takes the lock of the directory at `path`, and writes this process into the lock's file.
    pub(super) fn take(path: &Path) -> Result<DirectoryLock, DataDirectoryError> {
        let lock = path.join(FILE_NAME);
        let failed = |action| move |error| DataDirectoryError::of(action, &path.join(FILE_NAME), error);
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock)
            .map_err(failed("open"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let holder = LockHolder::read(&mut file);
                return Err(DataDirectoryError::InUse { path: path.to_owned(), holder });
            }
            Err(error) => return Err(failed("lock")(error.into())),
        }
        let holder = format!("{} {}\n", std::process::id(), host_name());
        // Written over what a former holder left: a full disk has room for that.
        file.write_all_at(holder.as_bytes(), 0).map_err(failed("write"))?;
        file.set_len(holder.len() as u64).map_err(failed("write"))?;
        Ok(DirectoryLock { _file: file })
    }
}

impl LockHolder {
    fn read(file: &mut File) -> LockHolder {
        let mut text = String::new();
        // Whatever cannot be read is not said.
        let _ = file.take(HOLDER_SIZE_MAX).read_to_string(&mut text);
        LockHolder::parse(&text, &host_name())
    }

    fn parse(text: &str, own_host: &str) -> LockHolder {
        let mut words = text.split_whitespace();
        let process = words.next().and_then(|word| word.parse().ok());
        let host = words.next().filter(|host| *host != own_host).map(str::to_owned);
        LockHolder { process, host }
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            Some(process) => write!(f, "process {process}")?,
            None => f.write_str("another process")?,
        }
        match &self.host {
            Some(host) => write!(f, " of {host}"),
            None => Ok(()),
        }
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_named_by_process_and_by_host_if_that_is_another_one() {
        let said = |text| LockHolder::parse(text, "here").to_string();
        assert_eq!(said("12 here\n"), "process 12");
        assert_eq!(said("12 there\n"), "process 12 of there");
        assert_eq!(said("12"), "process 12");
        assert_eq!(said(""), "another process");
        assert_eq!(said("x"), "another process");
    }
}
