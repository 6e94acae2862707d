//! Checkpoints: the index of the log at one of its groups, in a file of its own. A start applies the groups behind it.
//!
//! ```text
//! 0      4          8         12       28      32      40          48             56      60
//! | magic | checksum | version | log id | epoch | group | next file | next segment | flags | index | extensions |
//! ```
//!
//! The checksum is that of all bytes behind it. Extensions are those of records. No segment is being written when a checkpoint is made: all groups behind it lie in later segments.

use std::io::{self, IoSlice};

use super::LogId;
use super::index::Index;
use super::layout::FORMAT_VERSION;
use super::record::{NoRecord, Unknown, check_extensions};
use super::storage::StorageBackend;

/// Name of the last checkpoint.
pub(super) const NAME: &str = "checkpoint";
/// Name of the checkpoint before.
const FORMER: &str = "checkpoint.old";
/// Name of a checkpoint that is being written.
const UNFINISHED: &str = "checkpoint.new";
/// Checkpoints that a start may read, in the order in which it tries them.
const NAMES: [&str; 2] = [NAME, FORMER];
const MAGIC: [u8; 4] = *b"HChk";
const HEAD_SIZE: usize = 60;
/// Place of the flags.
const FLAGS: usize = 56;
/// The log was closed in order.
const IS_CLOSED: u32 = 1;

/// The part of a checkpoint in front of the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CheckpointHead {
    /// Run of the node that wrote the checkpoint.
    pub epoch: u32,
    /// Last group that the index contains.
    pub group: u64,
    /// Number of the next file.
    pub next_file: u64,
    /// Number of the next segment.
    pub next_segment: u64,
    /// The log was closed in order.
    pub is_closed: bool,
}

/// Writes a checkpoint. It is on the medium when this returns.
///
/// # Errors
///
/// The system's error. The checkpoints before are still there.
pub(super) fn write(
    storage: &dyn StorageBackend,
    log: &LogId,
    head: &CheckpointHead,
    index: &[u8],
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(HEAD_SIZE + index.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes.extend_from_slice(log);
    bytes.extend_from_slice(&head.epoch.to_le_bytes());
    for number in [head.group, head.next_file, head.next_segment] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&(if head.is_closed { IS_CLOSED } else { 0 }).to_le_bytes());
    bytes.extend_from_slice(index);
    let sum = crc32c::crc32c(&bytes[8..]);
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
    let file = storage.create(UNFINISHED)?;
    file.write_at(&[IoSlice::new(&bytes)], 0)?;
    file.sync()?;
    match storage.rename(NAME, FORMER) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    storage.rename(UNFINISHED, NAME)?;
    storage.sync_names()
}

/// Removes the checkpoint before the last one, if the last one is sound. Returns false if no file is removed.
pub(super) fn give_way(storage: &dyn StorageBackend, log: &LogId) -> bool {
    let is_sound = matches!(read_file(storage, log, NAME), Ok(Some((_, Some(_)))));
    is_sound && storage.open(FORMER).is_ok() && storage.remove(FORMER).is_ok()
}

/// Notes in the checkpoints that the log is in use again, where a full disk has no room for a new checkpoint. The flag and the checksum
/// lie in one sector.
///
/// # Errors
///
/// The system's error.
pub(super) fn note_open(storage: &dyn StorageBackend, log: &LogId) -> io::Result<()> {
    for name in NAMES {
        let file = match storage.open(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let mut bytes = vec![0; file.size()? as usize];
        file.read_at(&mut bytes, 0)?;
        if decode(&bytes, log)?.is_some_and(|(head, _)| head.is_closed) {
            bytes[FLAGS..HEAD_SIZE].copy_from_slice(&[0; 4]);
            let sum = crc32c::crc32c(&bytes[8..]);
            bytes[4..8].copy_from_slice(&sum.to_le_bytes());
            file.write_at(&[IoSlice::new(&bytes[..HEAD_SIZE])], 0)?;
            file.sync()?;
        }
    }
    Ok(())
}

/// A checkpoint that was read.
#[derive(Debug, Default)]
pub(super) struct ReadCheckpoint {
    pub head: CheckpointHead,
    pub index: Index,
    /// Names of later checkpoints that are damaged.
    pub damaged: Vec<&'static str>,
}

/// Reads the last sound checkpoint of a log. Without one the result is that of a log without groups.
///
/// # Errors
///
/// The system's error.
pub(super) fn read(storage: &dyn StorageBackend, log: &LogId) -> io::Result<ReadCheckpoint> {
    let mut damaged = Vec::new();
    for name in NAMES {
        match read_file(storage, log, name)? {
            None => {}
            Some((_, None)) => damaged.push(name),
            Some((_, Some((head, index)))) => return Ok(ReadCheckpoint { head, index, damaged }),
        }
    }
    Ok(ReadCheckpoint { damaged, ..ReadCheckpoint::default() })
}

/// Size and content of a checkpoint that was read. The content is missing if the checkpoint is damaged.
type ReadFile = (u64, Option<(CheckpointHead, Index)>);

/// Reads a checkpoint. `None`: there is no such file.
fn read_file(storage: &dyn StorageBackend, log: &LogId, name: &str) -> io::Result<Option<ReadFile>> {
    let file = match storage.open(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = vec![0; file.size()? as usize];
    // An unreadable checkpoint counts as damaged.
    let decoded = if file.read_at(&mut bytes, 0).is_ok() { decode(&bytes, log)? } else { None };
    Ok(Some((bytes.len() as u64, decoded)))
}

/// Returns the checkpoints that exist, the last one first: the name, the size, and whether the checkpoint is sound.
///
/// # Errors
///
/// The system's error.
pub(super) fn all(storage: &dyn StorageBackend, log: &LogId) -> io::Result<Vec<(&'static str, u64, bool)>> {
    let mut found = Vec::new();
    for name in NAMES {
        let read = read_file(storage, log, name)?;
        found.extend(read.map(|(size, content)| (name, size, content.is_some())));
    }
    Ok(found)
}

/// Reads a checkpoint. `None`: it is damaged.
///
/// # Errors
///
/// A checkpoint of a later version of the program.
fn decode(bytes: &[u8], log: &LogId) -> io::Result<Option<(CheckpointHead, Index)>> {
    let Some(head) = bytes.get(..HEAD_SIZE) else { return Ok(None) };
    let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| head[at + index]));
    let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|index| head[at + index]));
    if head[..4] != MAGIC || short(4) != crc32c::crc32c(&bytes[8..]) {
        return Ok(None);
    }
    let later = |part: String| {
        let remedy = "which a later version of the program wrote: use that program";
        io::Error::new(io::ErrorKind::Unsupported, format!("the checkpoint has {part}, {remedy}"))
    };
    if short(8) != FORMAT_VERSION {
        return Err(later(format!("format {}", short(8))));
    }
    if head[12..28] != *log {
        return Ok(None);
    }
    let head = CheckpointHead {
        epoch: short(28),
        group: long(32),
        next_file: long(40),
        next_segment: long(48),
        is_closed: short(FLAGS) & IS_CLOSED != 0,
    };
    let mut rest = &bytes[HEAD_SIZE..];
    let index = Index::take(&mut rest);
    match check_extensions(rest) {
        Err(NoRecord::Unknown(Unknown::Extension(kind))) if index.is_some() => {
            Err(later(format!("an extension of type {kind}")))
        }
        Ok(()) => Ok(index.map(|index| (head, index))),
        Err(_) => Ok(None),
    }
}
