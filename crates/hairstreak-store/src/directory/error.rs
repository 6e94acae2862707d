//! `DataDirectoryError`: a data directory cannot be used. Each error is one line with the path and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::lock_holder::LockHolder;

/// A data directory cannot be opened. The directory is unchanged, except that an empty or missing one may have been
/// begun.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataDirectoryError {
    /// Another process has the directory open.
    #[error(
        "the data directory {} is in use by {holder}: stop that process, or choose another directory",
        .path.display()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process that holds the lock.
        holder: LockHolder,
    },
    /// The directory has another format.
    #[error(
        "the data directory {} has format version {found}, and this program reads version {wanted}: \
         use the program that wrote the directory, or choose another directory",
        .path.display()
    )]
    Version {
        /// The directory.
        path: PathBuf,
        /// The version in the directory.
        found: u32,
        /// The version that this program reads and writes.
        wanted: u32,
    },
    /// The directory holds a store that only a later program knows.
    #[error(
        "the data directory {} holds `{store}`, which this program does not know: \
         use the program that wrote the directory, or choose another directory",
        .path.display()
    )]
    Store {
        /// The directory.
        path: PathBuf,
        /// The name of the store.
        store: String,
    },
    /// The directory has entries, and none was created by a node.
    #[error(
        "{} is not a data directory: it holds {}, and no file `node` of Hairstreak's: choose an empty directory, or a new one",
        .path.display(), .entry.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The name of a foreign file in the directory.
        entry: PathBuf,
    },
    /// A directory that is to be read is empty.
    #[error("{} is not a data directory: it has no file `node`: choose the directory of a node", .path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// A directory that is to be written has a data directory.
    #[error("{} has a data directory already: choose an empty directory, or a new one", .path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
    },
    /// A directory that is to be written lies in the directory that is read.
    #[error("{} lies in the data directory that is copied: choose another place", .path.display())]
    Within {
        /// The directory.
        path: PathBuf,
    },
    /// The directory belongs to another node.
    #[error(
        "the data directory {} is of the node \"{recorded}\", and this node is called \"{wanted}\": start this node as \
         \"{recorded}\", choose another directory, or write \"{wanted}\" into the line `node` of {} to take the directory over",
        .path.display(), .path.join(super::node_file::FILE_NAME).display()
    )]
    OtherNode {
        /// The directory.
        path: PathBuf,
        /// The name of the node in the directory.
        recorded: String,
        /// The name of the node that opens the directory.
        wanted: String,
    },
    /// A file that identifies the directory is malformed.
    #[error("{} is damaged ({reason}): the file was left as it is; restore it from a copy", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The finding.
        reason: String,
    },
    /// The name of the node is invalid.
    #[error("\"{}\" is no name for a node: {reason}", .name.escape_debug())]
    NodeName {
        /// The name.
        name: String,
        /// The rule that the name breaks.
        reason: &'static str,
    },
    /// The file system is read-only.
    #[error("{} is on a read-only file system: mount it writable, or choose another directory", .path.display())]
    ReadOnly {
        /// The file or directory to be written.
        path: PathBuf,
    },
    /// There is no space left, or no quota.
    #[error("no space is left for {}: free some, or choose another directory", .path.display())]
    NoSpace {
        /// The file or directory to be written.
        path: PathBuf,
    },
    /// The system does not permit this process to read and write the directory.
    #[error(
        "user {user} is not permitted to read and write {}: change its owner or mode, or choose another directory",
        .path.display()
    )]
    NotPermitted {
        /// The file or directory.
        path: PathBuf,
        /// The effective user id of this process.
        user: u32,
    },
    /// The path or one of its parents is a file.
    #[error("{} is not a directory: choose another path", .path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// Any other error of the system.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The attempt, as a verb.
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl DataDirectoryError {
    /// Returns the error for a system error. `action` is a verb.
    pub(super) fn of(action: &'static str, path: &Path, source: io::Error) -> DataDirectoryError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem => DataDirectoryError::ReadOnly { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DataDirectoryError::NoSpace { path },
            io::ErrorKind::PermissionDenied => {
                DataDirectoryError::NotPermitted { path, user: rustix::process::geteuid().as_raw() }
            }
            io::ErrorKind::NotADirectory => DataDirectoryError::NotADirectory { path },
            _ => DataDirectoryError::Io { path, action, source },
        }
    }
}
