//! `SimulatedStorage`: a directory in memory. When its power goes, it loses unsynced content in sectors and in any order, and
//! unsynced names. It refuses writes and syncs, and after a refused sync it shows content that is not on the medium.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use hairstreak_testkit::Rng;
use rustix::io::Errno;

use crate::log::storage::{StorageBackend, StorageFile};

/// Number of bytes that a medium writes atomically.
const SECTOR: usize = 512;

/// The directory. Clones share it.
#[derive(Clone, Debug)]
pub struct SimulatedStorage(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    medium: Mutex<Medium>,
    changed: Condvar,
}

#[derive(Debug)]
struct Medium {
    rng: Rng,
    files: Vec<FileState>,
    /// Names as the system shows them, and as they are on the medium.
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    /// Changes of names since the last sync of names.
    unsynced_names: Vec<NameChange>,
    faults: Faults,
    counts: Counts,
    /// Syncs of files block.
    is_held: bool,
    /// A sync is blocked.
    is_waiting: bool,
    /// Sectors that cannot be read: the file, and the offset of the sector.
    broken: Vec<(usize, usize)>,
}

#[derive(Debug, Default)]
struct FileState {
    /// The page cache. Reads see it.
    seen: Vec<u8>,
    /// The medium. It survives a loss of power.
    durable: Vec<u8>,
    /// The changes since the last sync, in their order.
    unsynced: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    /// At most a sector, and within one.
    Sector(usize, Vec<u8>),
    Length(usize),
}

#[derive(Clone, Debug)]
enum NameChange {
    Put(String, usize),
    Rename(String, String),
    Remove(String),
}

/// The operations that fail.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// All operations fail from this number on, as after the death of the process.
    pub dead_from: Option<u64>,
    /// One operation of this number fails.
    pub fails_at: Option<u64>,
    /// All syncs of files fail.
    pub sync: bool,
    /// Bytes that all files may have together.
    pub space: Option<usize>,
    /// Writes of files panic.
    pub writes_panic: bool,
    /// Reads of files panic.
    pub reads_panic: bool,
    /// Syncs of this kind do nothing, and report success: the code without that sync.
    pub skipped: Option<Skipped>,
}

/// A kind of sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// The content of a segment.
    Groups,
    /// The content of a checkpoint.
    Checkpoint,
    /// Names.
    Names,
}

/// Operations so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub operations: u64,
    pub syncs: u64,
    pub written_bytes: u64,
}

impl SimulatedStorage {
    pub fn new(seed: u64) -> SimulatedStorage {
        let medium = Medium {
            rng: Rng::with_seed(seed),
            files: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            unsynced_names: Vec::new(),
            faults: Faults::default(),
            counts: Counts::default(),
            is_held: false,
            is_waiting: false,
            broken: Vec::new(),
        };
        SimulatedStorage(Arc::new(Shared { medium: Mutex::new(medium), changed: Condvar::new() }))
    }

    fn medium(&self) -> MutexGuard<'_, Medium> {
        self.0.medium.lock().unwrap()
    }

    /// Makes syncs of files block until the guard is dropped, also by a panic of the test.
    pub fn hold_syncs(&self) -> HeldSyncs {
        self.medium().is_held = true;
        HeldSyncs(self.clone())
    }

    /// Returns true if a sync is blocked.
    pub fn has_blocked_sync(&self) -> bool {
        self.medium().is_waiting
    }

    pub fn set_faults(&self, faults: Faults) {
        self.medium().faults = faults;
    }

    pub fn counts(&self) -> Counts {
        self.medium().counts
    }

    /// Returns the bytes of all files.
    pub fn used_bytes(&self) -> usize {
        self.medium().used_bytes()
    }

    /// Returns the names of all files.
    pub fn names(&self) -> Vec<String> {
        self.medium().names.keys().cloned().collect()
    }

    /// Returns another directory with the same content, all of which is on the medium.
    pub fn copy(&self) -> SimulatedStorage {
        let copy = SimulatedStorage::new(0);
        let medium = self.medium();
        let mut other = copy.medium();
        let content = |file: &FileState| FileState {
            durable: file.seen.clone(),
            seen: file.seen.clone(),
            unsynced: Vec::new(),
        };
        other.files = medium.files.iter().map(content).collect();
        (other.names, other.durable_names) = (medium.names.clone(), medium.names.clone());
        drop(other);
        copy
    }

    /// Returns another directory with the content that is on the medium.
    pub fn medium_copy(&self) -> SimulatedStorage {
        let copy = SimulatedStorage::new(0);
        let medium = self.medium();
        let mut other = copy.medium();
        let content = |file: &FileState| FileState {
            durable: file.durable.clone(),
            seen: file.durable.clone(),
            unsynced: Vec::new(),
        };
        other.files = medium.files.iter().map(content).collect();
        (other.names, other.durable_names) = (medium.durable_names.clone(), medium.durable_names.clone());
        drop(other);
        copy
    }

    /// Returns the names of all files, and what they show.
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let medium = self.medium();
        medium.names.iter().map(|(name, file)| (name.clone(), medium.files[*file].seen.clone())).collect()
    }

    /// Returns the size of a file.
    pub fn size_of(&self, name: &str) -> usize {
        let medium = self.medium();
        medium.files[medium.names[name]].seen.len()
    }

    /// Changes the content of a file.
    pub fn rot(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut medium = self.medium();
        let file = medium.names[name];
        let file = &mut medium.files[file];
        change(&mut file.seen);
        file.durable.clone_from(&file.seen);
    }

    /// Makes the sector at an offset of a file unreadable.
    pub fn break_sector(&self, name: &str, offset: usize) {
        let mut medium = self.medium();
        let file = medium.names[name];
        medium.broken.push((file, offset / SECTOR * SECTOR));
    }

    /// Removes a file without a trace.
    pub fn lose_file(&self, name: &str) {
        let mut medium = self.medium();
        medium.names.remove(name);
        medium.durable_names.remove(name);
    }

    /// Cuts and restores the power. A part of the unsynced data and names is lost, and no operation fails afterwards.
    pub fn lose_power(&self) {
        let mut medium = self.medium();
        let medium = &mut *medium;
        let share = [0.0, 1.0, medium.rng.f64()][medium.rng.usize(..3)];
        // A file system with a journal keeps the order of names.
        let name_count = medium.rng.usize(..=medium.unsynced_names.len());
        for change in medium.unsynced_names.drain(..).take(name_count) {
            change.apply(&mut medium.durable_names);
        }
        medium.unsynced_names.clear();
        for file in &mut medium.files {
            for change in std::mem::take(&mut file.unsynced) {
                if medium.rng.f64() < share {
                    change.apply(&mut file.durable);
                }
            }
            file.seen.clone_from(&file.durable);
        }
        medium.names.clone_from(&medium.durable_names);
        medium.faults = Faults::default();
    }
}

/// Syncs that block.
pub struct HeldSyncs(SimulatedStorage);

impl Drop for HeldSyncs {
    fn drop(&mut self) {
        self.0.medium().is_held = false;
        self.0.0.changed.notify_all();
    }
}

impl Medium {
    fn used_bytes(&self) -> usize {
        self.names.values().map(|file| self.files[*file].seen.len()).sum()
    }

    fn begin(&mut self) -> io::Result<()> {
        self.counts.operations += 1;
        let Faults { dead_from, fails_at, .. } = self.faults;
        let is_dead = dead_from.is_some_and(|first| self.counts.operations >= first);
        if is_dead || fails_at == Some(self.counts.operations) { Err(Errno::IO.into()) } else { Ok(()) }
    }

    fn file_of(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.unsynced_names.push(change);
    }

    /// The kind of a sync of a file.
    fn kind_of(&self, file: usize) -> Skipped {
        let is_segment = |name: &String| name.ends_with(".segment");
        let is_segment = self.names.iter().any(|(name, other)| *other == file && is_segment(name));
        if is_segment { Skipped::Groups } else { Skipped::Checkpoint }
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            NameChange::Put(name, file) => names.insert(name.clone(), *file),
            NameChange::Rename(from, to) => match names.remove(from) {
                Some(file) => names.insert(to.clone(), file),
                None => None,
            },
            NameChange::Remove(name) => names.remove(name),
        };
    }
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Change::Length(length) => file.resize(*length, 0),
            Change::Sector(start, bytes) => {
                let end = start + bytes.len();
                // A sector beyond an end that is lost is lost, too.
                if end <= file.len() {
                    file[*start..end].copy_from_slice(bytes);
                }
            }
        }
    }
}

impl StorageBackend for SimulatedStorage {
    fn path(&self, name: &str) -> PathBuf {
        Path::new("/simulated").join(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.medium().names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        let mut medium = self.medium();
        medium.begin()?;
        let file = medium.files.len();
        medium.files.push(FileState::default());
        medium.change_names(NameChange::Put(name.to_owned(), file));
        drop(medium);
        Ok(Arc::new(OpenFile(self.clone(), file)))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(OpenFile(self.clone(), self.medium().file_of(name)?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut medium = self.medium();
        medium.begin()?;
        medium.file_of(from)?;
        medium.change_names(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut medium = self.medium();
        medium.begin()?;
        medium.change_names(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut medium = self.medium();
        medium.begin()?;
        if medium.faults.skipped != Some(Skipped::Names) {
            medium.durable_names = medium.names.clone();
            medium.unsynced_names.clear();
        }
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let medium = self.medium();
        let space = medium.faults.space;
        Ok(space.map_or(u64::MAX, |space| space.saturating_sub(medium.used_bytes()) as u64))
    }
}

#[derive(Debug)]
struct OpenFile(SimulatedStorage, usize);

impl StorageFile for OpenFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.medium().files[self.1].seen.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let is_panicking = self.0.medium().faults.reads_panic;
        assert!(!is_panicking, "a read");
        let medium = self.0.medium();
        let start = offset as usize;
        let is_broken =
            |(file, at): &(usize, usize)| *file == self.1 && start < at + SECTOR && *at < start + bytes.len();
        if medium.broken.iter().any(is_broken) {
            return Err(Errno::IO.into());
        }
        let seen = medium.files[self.1].seen.get(start..start + bytes.len());
        bytes.copy_from_slice(seen.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<()> {
        let is_panicking = self.0.medium().faults.writes_panic;
        assert!(!is_panicking, "a write");
        let mut medium = self.0.medium();
        let mut bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
        let mut result = medium.begin();
        if result.is_err() {
            // A failed write may have written a part.
            let size = medium.rng.usize(..=bytes.len());
            bytes.truncate(size);
        }
        let mut start = offset as usize;
        let mut end = start + bytes.len();
        let mut grown = end.saturating_sub(medium.files[self.1].seen.len());
        let room = medium.faults.space.map(|space| space.saturating_sub(medium.used_bytes()));
        if let Some(room) = room.filter(|room| *room < grown) {
            // A full disk takes the part that fits.
            bytes.truncate(bytes.len().saturating_sub(grown - room));
            (end, grown) = (start + bytes.len(), room);
            result = Err(Errno::NOSPC.into());
        }
        medium.counts.written_bytes += bytes.len() as u64;
        let file = &mut medium.files[self.1];
        let mut changes = Vec::new();
        if grown > 0 {
            changes.push(Change::Length(end));
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (sector, later) = rest.split_at(rest.len().min(SECTOR - start % SECTOR));
            changes.push(Change::Sector(start, sector.to_vec()));
            start += sector.len();
            rest = later;
        }
        for change in changes {
            change.apply(&mut file.seen);
            file.unsynced.push(change);
        }
        result
    }

    fn sync(&self) -> io::Result<()> {
        let mut medium = self.0.medium();
        while medium.is_held {
            medium.is_waiting = true;
            medium = self.0.0.changed.wait(medium).unwrap();
        }
        medium.is_waiting = false;
        let result = match medium.begin() {
            Ok(()) if medium.faults.sync => Err(Errno::IO.into()),
            result => result,
        };
        medium.counts.syncs += 1;
        if medium.faults.skipped == Some(medium.kind_of(self.1)) {
            return Ok(());
        }
        let medium = &mut *medium;
        let file = &mut medium.files[self.1];
        for change in std::mem::take(&mut file.unsynced) {
            // After a failed sync the system shows all content, of which any part is on the medium.
            if result.is_ok() || medium.rng.bool() {
                change.apply(&mut file.durable);
            }
        }
        result
    }
}
