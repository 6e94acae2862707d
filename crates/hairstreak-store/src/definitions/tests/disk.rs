//! `SimulatedDisk`: a disk in memory. When its power goes, it loses unsynced data, in sectors and in any order. It
//! refuses writes and syncs. After a refused sync it treats pages as written that are not on the medium, as Linux
//! does.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use fastrand::Rng;
use redb::StorageBackend;
use rustix::io::Errno;

use crate::definitions::disk::Disk;

/// Number of bytes that a medium writes atomically.
const SECTOR: usize = 512;

/// The disk. Clones share the disk.
#[derive(Clone, Debug)]
pub struct SimulatedDisk(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    medium: Mutex<Medium>,
    changed: Condvar,
}

#[derive(Debug)]
struct Medium {
    rng: Rng,
    exists: bool,
    /// The page cache. Reads see it.
    seen: Vec<u8>,
    /// The medium. It survives a loss of power.
    durable: Vec<u8>,
    /// The changes since the last sync, in their order.
    unsynced: Vec<Change>,
    faults: Faults,
    /// Number of operations so far: changes of the file, and syncs.
    operation_count: u64,
    /// Number of the operation that was the first refused sync.
    refused_sync: Option<u64>,
    /// Syncs block.
    is_held: bool,
    /// A sync is blocked.
    is_waiting: bool,
}

#[derive(Clone, Debug)]
enum Change {
    /// At most a sector, and within one.
    Sector(usize, Vec<u8>),
    Length(usize),
}

/// The operations that fail.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// All operations fail from this number on, as after the death of the process.
    pub dead_from: Option<u64>,
    /// Writes fail with this error.
    pub write: Option<Errno>,
    /// Writes beyond this many bytes fail for lack of space.
    pub space: Option<usize>,
    /// Syncs fail.
    pub sync: bool,
    /// Opening fails with this error.
    pub open: Option<Errno>,
    /// Writes panic, as a bug in redb would.
    pub panic: bool,
}

impl SimulatedDisk {
    pub fn new(seed: u64) -> SimulatedDisk {
        let medium = Medium {
            rng: Rng::with_seed(seed),
            exists: false,
            seen: Vec::new(),
            durable: Vec::new(),
            unsynced: Vec::new(),
            faults: Faults::default(),
            operation_count: 0,
            refused_sync: None,
            is_held: false,
            is_waiting: false,
        };
        SimulatedDisk(Arc::new(Shared { medium: Mutex::new(medium), changed: Condvar::new() }))
    }

    /// Returns a disk with this file.
    pub fn with_file(bytes: Vec<u8>) -> SimulatedDisk {
        let disk = SimulatedDisk::new(0);
        disk.create(&bytes).unwrap();
        disk
    }

    pub fn set_faults(&self, faults: Faults) {
        self.medium().faults = faults;
    }

    /// Removes the file.
    pub fn remove(&self) {
        self.medium().exists = false;
    }

    pub fn operation_count(&self) -> u64 {
        self.medium().operation_count
    }

    /// Returns whether a sync was refused and no operation followed.
    pub fn is_left_alone(&self) -> bool {
        let medium = self.medium();
        medium.refused_sync == Some(medium.operation_count)
    }

    /// Returns the file as reads see it.
    pub fn bytes(&self) -> Vec<u8> {
        self.medium().seen.clone()
    }

    /// Cuts and restores the power. A part of the unsynced data is lost, and the disk refuses no operation
    /// afterwards.
    pub fn lose_power(&self) {
        let mut medium = self.medium();
        let medium = &mut *medium;
        let share = [0.0, 1.0, medium.rng.f64()][medium.rng.usize(..3)];
        for change in std::mem::take(&mut medium.unsynced) {
            if medium.rng.f64() < share {
                change.apply(&mut medium.durable);
            }
        }
        medium.seen.clone_from(&medium.durable);
        medium.faults = Faults::default();
    }

    /// Makes syncs block, or continue.
    pub fn hold_syncs(&self, is_held: bool) {
        self.medium().is_held = is_held;
        self.0.changed.notify_all();
    }

    /// Waits until a sync is blocked.
    pub fn wait_for_sync(&self) {
        drop(self.0.changed.wait_while(self.medium(), |medium| !medium.is_waiting).unwrap());
    }

    fn medium(&self) -> MutexGuard<'_, Medium> {
        self.0.medium.lock().unwrap()
    }
}

impl Disk for SimulatedDisk {
    fn file(&self) -> &Path {
        Path::new("/simulated/definitions.redb")
    }

    fn open(&self) -> io::Result<Option<Box<dyn StorageBackend>>> {
        let medium = self.medium();
        match medium.faults.open {
            Some(error) => Err(error.into()),
            None if !medium.exists => Ok(None),
            None => Ok(Some(Box::new(OpenFile(self.clone())))),
        }
    }

    fn create(&self, bytes: &[u8]) -> io::Result<()> {
        let mut medium = self.medium();
        medium.begin(0, bytes.len())?;
        medium.exists = true;
        medium.seen = bytes.to_vec();
        medium.durable = bytes.to_vec();
        medium.unsynced.clear();
        Ok(())
    }
}

impl Medium {
    /// Counts an operation that writes up to `end`, and refuses it if a fault applies.
    fn begin(&mut self, start: usize, end: usize) -> io::Result<()> {
        self.operation_count += 1;
        if self.faults.dead_from.is_some_and(|first| self.operation_count >= first) {
            return Err(Errno::IO.into());
        }
        if let Some(error) = self.faults.write {
            return Err(error.into());
        }
        if start < end && self.faults.space.is_some_and(|space| end > space) {
            return Err(Errno::NOSPC.into());
        }
        Ok(())
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.unsynced.push(change);
    }

    /// Writes a random part of the unsynced changes to the medium, and treats the rest as written. A part of the rest
    /// is read again from the medium.
    fn forget(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            match &change {
                Change::Length(_) => change.apply(&mut self.durable),
                Change::Sector(..) if self.rng.bool() => change.apply(&mut self.durable),
                Change::Sector(start, bytes) if self.rng.u8(..4) == 0 => {
                    let end = (start + bytes.len()).min(self.durable.len()).min(self.seen.len());
                    if *start < end {
                        self.seen[*start..end].copy_from_slice(&self.durable[*start..end]);
                    }
                }
                Change::Sector(..) => {}
            }
        }
    }
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Change::Length(length) => file.resize(*length, 0),
            Change::Sector(start, bytes) => {
                let end = (start + bytes.len()).min(file.len());
                if *start < end {
                    file[*start..end].copy_from_slice(&bytes[..end - start]);
                }
            }
        }
    }
}

#[derive(Debug)]
struct OpenFile(SimulatedDisk);

impl StorageBackend for OpenFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.medium().seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = offset as usize;
        let medium = self.0.medium();
        let bytes = medium.seen.get(start..start + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut medium = self.0.medium();
        medium.begin(0, 0)?;
        medium.change(Change::Length(length as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let changed = &self.0.0.changed;
        let mut medium = self.0.medium();
        while medium.is_held {
            medium.is_waiting = true;
            changed.notify_all();
            medium = changed.wait(medium).unwrap();
        }
        medium.is_waiting = false;
        medium.operation_count += 1;
        if medium.faults.dead_from.is_some_and(|first| medium.operation_count >= first) {
            return Err(Errno::IO.into());
        }
        if medium.faults.sync {
            medium.forget();
            let number = medium.operation_count;
            medium.refused_sync.get_or_insert(number);
            return Err(Errno::IO.into());
        }
        for change in std::mem::take(&mut medium.unsynced) {
            change.apply(&mut medium.durable);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut medium = self.0.medium();
        if medium.faults.panic {
            drop(medium);
            panic!("on purpose");
        }
        let mut start = offset as usize;
        medium.begin(start, start + data.len())?;
        if start + data.len() > medium.seen.len() {
            medium.change(Change::Length(start + data.len()));
        }
        let mut rest = data;
        while !rest.is_empty() {
            let (sector, later) = rest.split_at(rest.len().min(SECTOR - start % SECTOR));
            medium.change(Change::Sector(start, sector.to_vec()));
            start += sector.len();
            rest = later;
        }
        Ok(())
    }
}
