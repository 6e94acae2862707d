//! `StoreError`: definitions cannot be read or written. Each error is one line with the file and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The definitions cannot be opened, or a change cannot be committed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The content of the file differs from the content that this store wrote.
    #[error(
        "{} is damaged ({reason}): the file was left as it is; restore it from a copy; to begin without definitions, move it away and delete the line \
         `holds definitions` from the file `node` beside it",
        .file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The finding.
        reason: String,
    },
    /// The file is missing, although the directory had one.
    #[error(
        "{} is missing, and the directory had definitions: restore the file from a copy; to begin without definitions, delete the line \
         `holds definitions` from the file `node` beside it",
        .file.display()
    )]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// The file was written by another version of the store.
    #[error(
        "{} was written by another version of this program ({reason}): the file was left as it is; use that version",
        .file.display()
    )]
    Version {
        /// The file.
        file: PathBuf,
        /// The finding.
        reason: String,
    },
    /// The file is open already.
    #[error("{} is open already, in this process or in a tool that reads it: close it there", .file.display())]
    InUse {
        /// The file.
        file: PathBuf,
    },
    /// The file system is read-only.
    #[error("{} is on a read-only file system: mount it writable", .file.display())]
    ReadOnly {
        /// The file.
        file: PathBuf,
    },
    /// There is no space left, or no quota.
    #[error("no space is left for {}: free some", .file.display())]
    NoSpace {
        /// The file.
        file: PathBuf,
    },
    /// The system does not permit this process to read and write the file.
    #[error("user {user} is not permitted to read and write {}: change its owner or mode", .file.display())]
    NotPermitted {
        /// The file.
        file: PathBuf,
        /// The effective user id of this process.
        user: u32,
    },
    /// Any other error of the system.
    #[error("cannot read and write {}: {source}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The batch was refused because too many bytes wait for the disk. Nothing of the batch is kept.
    #[error(
        "{waiting} bytes of definitions wait for the disk, and {max} may: this change was not kept; try it again when the disk has caught up"
    )]
    Full {
        /// Approximate number of waiting bytes.
        waiting: usize,
        /// Limit of the waiting bytes.
        max: usize,
    },
    /// The store was closed before the batch was submitted. Nothing of the batch is kept.
    #[error("the definitions are closed: this change was not kept")]
    Closed,
    /// The system cannot create a thread.
    #[error("cannot start the thread that writes the definitions: {0}")]
    Thread(io::Error),
}

impl StoreError {
    /// Returns the error for a system error.
    pub(super) fn of_system(file: &Path, source: io::Error) -> StoreError {
        let file = file.to_owned();
        match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { file },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::NoSpace { file },
            io::ErrorKind::PermissionDenied => {
                StoreError::NotPermitted { file, user: rustix::process::geteuid().as_raw() }
            }
            // redb read beyond the end of the file.
            io::ErrorKind::UnexpectedEof => StoreError::Damaged { file, reason: "it is too short".into() },
            _ => StoreError::Io { file, source },
        }
    }

    /// Returns the error for a redb error. `fault` is the system's error, if the system caused the failure.
    pub(super) fn of_database(file: &Path, fault: Option<io::Error>, error: redb::Error) -> StoreError {
        if let Some(source) = fault {
            return StoreError::of_system(file, source);
        }
        let reason = error.to_string();
        let file = file.to_owned();
        match error {
            // redb reports a file that is not a database as an I/O error of this kind.
            redb::Error::Io(source) if source.kind() == io::ErrorKind::InvalidData => {
                StoreError::Damaged { file, reason: source.to_string() }
            }
            redb::Error::Io(source) => StoreError::of_system(&file, source),
            redb::Error::DatabaseAlreadyOpen => StoreError::InUse { file },
            redb::Error::UpgradeRequired(_) => StoreError::Version { file, reason },
            _ => StoreError::Damaged { file, reason },
        }
    }
}
