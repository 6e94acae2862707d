//! `LogError`: the log cannot be opened or written. Each error is one line with the file and the remedy.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The log cannot be opened, or a group cannot be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// Another version of the program wrote the file.
    #[error("{} has format {found} of the message log, and this program knows format 1: use that program", .file.display())]
    Version {
        /// The file.
        file: PathBuf,
        /// Version in the file.
        found: u32,
    },
    /// A later version of the program wrote the file, and it may have records that this one does not know.
    #[error("{} has features {found:#x} of the message log, which a later version of the program wrote: use that program", .file.display())]
    Features {
        /// The file.
        file: PathBuf,
        /// A bit for each feature.
        found: u32,
    },
    /// The file belongs to another log.
    #[error("{} belongs to another message log: move it away", .file.display())]
    OtherLog {
        /// The file.
        file: PathBuf,
    },
    /// The directory had a log, which is missing.
    #[error(
        "{} has no message log, and the directory had one: restore the files from a copy; to begin without messages, delete the line \
         `holds messages` from the file `node` beside it",
        .directory.display()
    )]
    Missing {
        /// The directory of the log.
        directory: PathBuf,
    },
    /// An error of the system.
    #[error("cannot read and write {}: {source}", .file.display())]
    Io {
        /// The file or directory.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The disk does not answer at the end of the log.
    #[error(
        "the disk has not answered a write or a sync of {} for {seconds} s: messages without a confirm may be lost",
        .file.display()
    )]
    Hangs {
        /// The file or directory.
        file: PathBuf,
        /// Time that the log has waited.
        seconds: u64,
    },
    /// The system cannot create a thread.
    #[error("cannot start the thread that writes messages: {0}")]
    Thread(io::Error),
}
