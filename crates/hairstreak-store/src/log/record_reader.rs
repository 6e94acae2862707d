//! `RecordReader`: reads records of one segment, several with one read where they lie close together.

use std::io;
use std::sync::Arc;

use super::layout::Seed;
use super::record::{NoRecord, Record};
use super::storage::{StorageFile, read_sectors};

/// Bytes that are read at once where records lie close together.
const WINDOW_SIZE: usize = 256 << 10;
/// Bytes that are read for a record by itself.
const RECORD_SIZE: usize = 4 << 10;

/// Returns true if records at these offsets are worth one read.
pub(super) fn are_dense(one: u32, next: u32) -> bool {
    one.abs_diff(next) < WINDOW_SIZE as u32 / 4
}

/// Reads records of a segment, each at its offset.
#[derive(Debug)]
pub(super) struct RecordReader {
    file: Arc<dyn StorageFile>,
    seed: Seed,
    window: Vec<u8>,
    window_start: u64,
}

impl RecordReader {
    pub fn new(file: Arc<dyn StorageFile>, seed: Seed) -> RecordReader {
        RecordReader { file, seed, window: Vec::new(), window_start: 0 }
    }

    pub fn file(&self) -> &dyn StorageFile {
        &*self.file
    }

    /// The file, to share it.
    pub fn file_handle(&self) -> Arc<dyn StorageFile> {
        Arc::clone(&self.file)
    }

    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Reads the record at an offset. `None`: there is no sound record. `is_dense`: the next record is near.
    pub fn record(&mut self, offset: u64, is_dense: bool) -> io::Result<Option<Vec<u8>>> {
        let size = if is_dense { WINDOW_SIZE } else { RECORD_SIZE };
        if let Some(record) = self.in_window(offset)? {
            return Ok(Some(record));
        }
        self.fill_window(offset, size)?;
        if let Some(record) = self.in_window(offset)? {
            return Ok(Some(record));
        }
        // The record may be longer than the window.
        let Some(size) = self.window.get(..4) else { return Ok(None) };
        let size = u32::from_le_bytes([size[0], size[1], size[2], size[3]]) as usize;
        if size <= self.window.len() {
            return Ok(None);
        }
        self.fill_window(offset, size)?;
        self.in_window(offset)
    }

    /// The record at this offset, if the window has it and it is sound.
    fn in_window(&self, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let place = offset.checked_sub(self.window_start).and_then(|place| usize::try_from(place).ok());
        let Some(bytes) = place.and_then(|place| self.window.get(place..)) else { return Ok(None) };
        match Record::decode(bytes, self.seed) {
            Ok((_, size)) => Ok(Some(bytes[..size].to_vec())),
            Err(NoRecord::Damaged) => Ok(None),
            Err(NoRecord::Unknown(unknown)) => Err(unknown.at(offset)),
        }
    }

    fn fill_window(&mut self, offset: u64, size: usize) -> io::Result<()> {
        let size = (size as u64).min(self.file.size()?.saturating_sub(offset));
        self.window.resize(size as usize, 0);
        self.window_start = offset;
        read_sectors(&*self.file, &mut self.window, offset)
    }
}
