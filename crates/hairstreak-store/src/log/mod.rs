//! The log of messages, which keeps the content of queues beyond the life of the node.
//!
//! ```text
//! batches of the virtual hosts --> thread of the log: group --> segment --> one sync for all batches of the group
//! ```
//!
//! - `storage`: the directory of the files, real or simulated
//! - `layout`, `record`, `footer`, `checkpoint`: bytes
//! - `extent`, `index`: where the messages of each queue lie
//! - `scan`: the groups of a segment, even of a damaged segment
//! - `files`: files that are used again, or made ahead
//! - `writer`: groups into segments, without a thread
//! - `recovery`: from the files to an index
//! - `reader`, `record_reader`: messages of a queue, back from the files
//! - `message_log`: the threads
//! - `group_limit`: the most bytes of a group
//! - `stored_log`, `check`, `salvage`: tools for a log that no node uses; `read_only`: its directory
//!
//! docs/format.md describes the files.

mod check;
mod checkpoint;
mod error;
mod extent;
mod files;
mod footer;
mod group_limit;
mod index;
mod layout;
mod message_log;
mod read_only;
mod reader;
mod record;
mod record_reader;
mod recovery;
mod salvage;
mod scan;
mod space;
mod storage;
mod stored_log;
mod writer;

#[cfg(test)]
mod tests;

pub use check::{Finding, LogReport, Part, check};
pub use error::LogError;
pub use index::{DroppedQueues, RecoveredQueue};
pub use message_log::{Appended, MessageLog, OnProgress, OpenedLog, Progress};
pub use reader::{Loaded, StoredMessage};
pub use record::{Batch, MessageRecord, Record, Run, Runs, Target, Targets};
pub use recovery::Damage;
pub use salvage::{SalvageError, Salvaged, salvage};
pub use storage::{Directory, StorageBackend, StorageFile};
pub use stored_log::{RecordPlace, StoredLog};
pub use writer::SEGMENT_SIZE;

use layout::LogId;
