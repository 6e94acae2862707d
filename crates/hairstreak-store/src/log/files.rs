//! `Files`: the files of the log without a segment. A spare file was recycled, or was made ahead for the next segment.
//!
//! A file is filled with zeros and synced, and so is its name, before a segment uses it: a sync of records then changes no metadata.
//!
//! While space is short new files are small, and one spare file is kept: on a disk that others fill, acknowledgements, moves and
//! copies still have a place, and set files free.

use std::io::{self, IoSlice};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::layout::file_name;
use super::space::Space;
use super::storage::{StorageBackend, StorageFile};

/// Spare files that are kept, with the file that is being made ahead.
const SPARE_COUNT: usize = 2;
/// Spare files that are kept while space is short.
const RESERVE_COUNT: usize = 1;
/// Bytes that one write clears.
const ZEROS_SIZE: usize = 1 << 20;

/// The files without a segment.
#[derive(Debug)]
pub(super) struct Files {
    storage: Arc<dyn StorageBackend>,
    space: Arc<Space>,
    next_number: u64,
    /// Numbers and sizes, small files first.
    spares: Vec<(u64, u64)>,
    preparation: Option<Preparation>,
}

/// A file for a segment.
#[derive(Debug)]
pub(super) struct TakenFile {
    pub number: u64,
    pub file: Arc<dyn StorageFile>,
    pub size: u64,
}

/// A file that is made ahead, by any thread.
#[derive(Clone, Debug)]
pub(super) struct Preparation {
    storage: Arc<dyn StorageBackend>,
    space: Arc<Space>,
    number: u64,
    size: u64,
    is_cancelled: Arc<AtomicBool>,
}

impl Files {
    /// `next_number`: the number of the next new file.
    pub fn new(storage: Arc<dyn StorageBackend>, space: Arc<Space>, next_number: u64) -> Files {
        Files { storage, space, next_number, spares: Vec::new(), preparation: None }
    }

    /// Returns the number of the next new file.
    pub fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Returns the bytes of all files, with the file that is being made ahead.
    pub fn size(&self) -> u64 {
        let spares: u64 = self.spares.iter().map(|(_, size)| size).sum();
        spares + self.preparation.as_ref().map_or(0, |preparation| preparation.size)
    }

    /// Takes a spare file whose size is in the range, or creates the smallest one; on a full disk one of `size_min` bytes. While
    /// space is short a spare file is the last resort.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn take(&mut self, sizes: RangeInclusive<u64>, size_min: u64) -> io::Result<TakenFile> {
        if !self.space.is_short()
            && let Some(spare) = self.take_spare(&sizes)
        {
            return spare;
        }
        let mut created = self.create(*sizes.start());
        if created.as_ref().is_err_and(is_full) && size_min < *sizes.start() {
            created = self.create(size_min);
        }
        if created.as_ref().is_err_and(is_full)
            && let Some(spare) = self.take_spare(&sizes)
        {
            return spare;
        }
        created
    }

    fn take_spare(&mut self, sizes: &RangeInclusive<u64>) -> Option<io::Result<TakenFile>> {
        let place = self.spares.iter().position(|(_, size)| sizes.contains(size))?;
        let (number, size) = self.spares.remove(place);
        Some(self.storage.open(&file_name(number)).map(|file| TakenFile { number, file, size }))
    }

    fn create(&mut self, size: u64) -> io::Result<TakenFile> {
        let number = self.take_number();
        let created = create_file(&*self.storage, number, size, &AtomicBool::new(false));
        self.space.look(&*self.storage);
        Ok(TakenFile { number, file: created?, size })
    }

    fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    /// Begins to make a file of that size ahead. `None`: there is one, or one is being made. The caller has the preparation run,
    /// and reports its end to [`Files::end_preparation`].
    pub fn prepare(&mut self, size: u64) -> Option<Preparation> {
        if self.preparation.is_some() || self.spares.iter().any(|(_, spare)| *spare >= size) {
            return None;
        }
        let (storage, space) = (Arc::clone(&self.storage), Arc::clone(&self.space));
        let number = self.take_number();
        self.preparation = Some(Preparation { storage, space, number, size, is_cancelled: Arc::default() });
        self.preparation.clone()
    }

    /// Has the file that is being made ahead given up.
    pub fn cancel_preparation(&self) {
        if let Some(preparation) = &self.preparation {
            preparation.is_cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Keeps the file that was made ahead. `is_made`: all of it is on the medium.
    pub fn end_preparation(&mut self, is_made: bool) {
        let preparation = self.preparation.take();
        if let Some(Preparation { number, size, .. }) = preparation.filter(|_| is_made) {
            self.keep(number, size);
        }
    }

    /// Keeps the file of a dead segment for a later one. Small files make room for larger ones.
    pub fn keep(&mut self, number: u64, size: u64) {
        self.spares.push((number, size));
        self.spares.sort_unstable_by_key(|(_, size)| *size);
    }

    /// Removes the spare files that are not needed. `used`: bytes of the segments. While space is short a spare file is no larger than
    /// the segments that it may help to free.
    pub fn trim(&mut self, used: u64) {
        while self.space.is_short() && self.spares.last().is_some_and(|(_, size)| *size > used) {
            self.remove(self.spares.len() - 1);
        }
        let count_max = if self.space.is_short() { RESERVE_COUNT } else { SPARE_COUNT };
        while self.spares.len() + usize::from(self.preparation.is_some()) > count_max
            && !self.spares.is_empty()
        {
            self.remove(0);
        }
    }

    /// Returns true if there is a spare file, or one is being made.
    pub fn has_reserve(&self) -> bool {
        !self.spares.is_empty() || self.preparation.is_some()
    }

    /// Gives a spare file up: the full disk has something else to take. Returns false if there is no spare file.
    pub fn give_way(&mut self) -> bool {
        let has_spare = !self.spares.is_empty();
        if has_spare {
            self.remove(0);
        }
        has_spare
    }

    fn remove(&mut self, place: usize) {
        let (number, _) = self.spares.remove(place);
        // A file that stays is removed by the next start.
        drop(self.storage.remove(&file_name(number)));
    }
}

impl Preparation {
    /// Makes the file. Returns true if all of it is on the medium; otherwise nothing is left of it. A file that is missing when it
    /// is needed is made then.
    pub fn run(&self) -> bool {
        let created = create_file(&*self.storage, self.number, self.size, &self.is_cancelled);
        self.space.look(&*self.storage);
        created.is_ok()
    }
}

/// Returns true if the disk is full.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Creates a file of zeros.
fn create_file(
    storage: &dyn StorageBackend,
    number: u64,
    file_size: u64,
    is_cancelled: &AtomicBool,
) -> io::Result<Arc<dyn StorageFile>> {
    let name = file_name(number);
    let create = || {
        let file = storage.create(&name)?;
        let zeros = vec![0; ZEROS_SIZE];
        let mut offset = 0;
        while offset < file_size {
            if is_cancelled.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let size = (file_size - offset).min(ZEROS_SIZE as u64);
            file.write_at(&[IoSlice::new(&zeros[..size as usize])], offset)?;
            offset += size;
        }
        file.sync()?;
        storage.sync_names()?;
        Ok(file)
    };
    let created = create();
    if created.is_err() {
        // A part of the file would take the space that the next attempt needs.
        let _ = storage.remove(&name);
    }
    created
}
