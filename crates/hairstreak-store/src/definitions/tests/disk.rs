//! `SimulatedDisk`: a disk in memory. It loses what was not synced when its power goes, in sectors and in any order; it refuses to
//! write and to sync; and after a refused sync it takes pages that are not on the medium for written, as Linux does.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use fastrand::Rng;
use redb::StorageBackend;
use rustix::io::Errno;

use crate::definitions::disk::Disk;

/// A medium writes so many bytes whole or not at all.
const SECTOR: usize = 512;

/// The disk. Clones are of the same disk.
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
    /// The page cache, which reads see.
    seen: Vec<u8>,
    /// The medium, which is left when the power goes.
    durable: Vec<u8>,
    /// The changes since the last sync, in their order.
    unsynced: Vec<Change>,
    faults: Faults,
    /// Counts what changes the file, and syncs.
    operation_count: u64,
    /// The number of the first sync that was refused.
    refused_sync: Option<u64>,
    /// Syncs wait.
    is_held: bool,
    /// A sync waits.
    is_waiting: bool,
}

#[derive(Clone, Debug)]
enum Change {
    /// At most a sector, and within one.
    Sector(usize, Vec<u8>),
    Length(usize),
}

/// The disk's refusals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Everything, from the operation of this number on: the process is as good as dead.
    pub dead_from: Option<u64>,
    /// To write, with this error.
    pub write: Option<Errno>,
    /// To write beyond so many bytes, for want of space.
    pub space: Option<usize>,
    /// To sync.
    pub sync: bool,
    /// To open.
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

    /// A disk with this file.
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

    /// Whether a sync was refused and nothing was tried since.
    pub fn is_left_alone(&self) -> bool {
        let medium = self.medium();
        medium.refused_sync == Some(medium.operation_count)
    }

    /// The file as reads see it.
    pub fn bytes(&self) -> Vec<u8> {
        self.medium().seen.clone()
    }

    /// The power goes, and comes back: a part of what was not synced is lost, and the disk refuses nothing any more.
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

    /// Has syncs wait, or go on.
    pub fn hold_syncs(&self, is_held: bool) {
        self.medium().is_held = is_held;
        self.0.changed.notify_all();
    }

    /// Returns when a sync waits.
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
    /// Counts an operation that writes up to `end`, and refuses it if it is to be.
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

    /// Some of what was to be synced reached the medium, and the rest is taken for written. Some of that is read again from the medium.
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
