//! `StorageBackend`: the directory that holds the files of the log. The tests have one that loses power, fails and hangs.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::io::{Errno, pwritev};

use crate::atomic_file;

/// Bytes that a medium reads or fails to read as a whole.
const SECTOR_SIZE: u64 = 512;
/// Number of slices that one system call takes.
const SLICE_COUNT: usize = 1_024;

/// A directory of files. All names are plain file names.
pub trait StorageBackend: Debug + Send + Sync {
    /// Returns the path of a file, for errors.
    fn path(&self, name: &str) -> PathBuf;

    /// Returns the names of all files.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Creates a file, or empties it. Its name is on the medium after [`StorageBackend::sync_names`].
    ///
    /// # Errors
    ///
    /// The system's error.
    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>>;

    /// Opens a file for reading and writing.
    ///
    /// # Errors
    ///
    /// The system's error; `NotFound` if there is no such file.
    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>>;

    /// Gives a file another name, and replaces the file that had it.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file. A file that does not exist is no error.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Writes all names to the medium: created, renamed and removed ones.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn sync_names(&self) -> io::Result<()>;

    /// Returns the bytes that may still be written.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn free_bytes(&self) -> io::Result<u64>;
}

/// An open file.
pub trait StorageFile: Debug + Send + Sync {
    /// Returns the size, in bytes.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn size(&self) -> io::Result<u64>;

    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    ///
    /// The system's error; `UnexpectedEof` if the file is too short.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all slices, one behind the other, from `offset` on.
    ///
    /// # Errors
    ///
    /// The system's error. Any part may be written.
    fn write_at(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<()>;

    /// Writes the content to the medium.
    ///
    /// # Errors
    ///
    /// The system's error. Any part of the unsynced content may be lost, whatever reads return afterwards.
    fn sync(&self) -> io::Result<()>;
}

/// Fills `bytes` from `offset` on. Unreadable sectors become zeros, so that no checksum fits them.
///
/// # Errors
///
/// The system's error, if nothing can be read.
pub(super) fn read_sectors(file: &dyn StorageFile, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let Err(error) = file.read_at(bytes, offset) else { return Ok(()) };
    let (mut at, mut has_read) = (0, false);
    while at < bytes.len() {
        let place = offset + at as u64;
        let size = (SECTOR_SIZE - place % SECTOR_SIZE).min((bytes.len() - at) as u64) as usize;
        let sector = &mut bytes[at..at + size];
        match file.read_at(sector, place) {
            Ok(()) => has_read = true,
            Err(_) => sector.fill(0),
        }
        at += size;
    }
    if has_read { Ok(()) } else { Err(error) }
}

/// Reads a file, as [`read_sectors`] does.
///
/// # Errors
///
/// The system's error, if nothing can be read.
pub(super) fn read_whole(file: &dyn StorageFile) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; file.size()? as usize];
    read_sectors(file, &mut bytes, 0)?;
    Ok(bytes)
}

/// How the files of a directory are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// The files survive a loss of power where they were synced.
    Durable,
    /// The files need not survive the process: nothing is synced.
    Temporary,
    /// The files are only read.
    ReadOnly,
}

/// A directory of the file system.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    access: Access,
    /// Time that each sync takes longer.
    sync_delay: Duration,
}

/// A file with other syncs.
#[derive(Debug)]
struct WrappedFile {
    file: File,
    is_synced: bool,
    /// Time that each sync takes longer.
    sync_delay: Duration,
}

impl Directory {
    /// Opens a directory. A missing one is created with mode 0700.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn open(path: &Path) -> io::Result<Directory> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // A process that was killed may have created the directory, and not synced its name.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        atomic_file::sync_directory(parent.unwrap_or(Path::new(".")))?;
        Ok(Directory { path: path.to_owned(), access: Access::Durable, sync_delay: Duration::ZERO })
    }

    /// Creates a directory whose files need not survive the process. An existing directory loses its files.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn create_temporary(path: &Path) -> io::Result<Directory> {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::DirBuilder::new().mode(0o700).create(path)?;
        Ok(Directory { path: path.to_owned(), access: Access::Temporary, sync_delay: Duration::ZERO })
    }

    /// A directory whose files are only read. It may be missing.
    pub(super) fn read_only(path: &Path) -> Directory {
        Directory { path: path.to_owned(), access: Access::ReadOnly, sync_delay: Duration::ZERO }
    }

    /// Delays each sync: measurements on a fast disk have the sync time of a slow disk.
    #[must_use]
    pub fn with_sync_delay(self, sync_delay: Duration) -> Directory {
        Directory { sync_delay, ..self }
    }

    fn wrap(&self, file: File) -> Arc<dyn StorageFile> {
        let is_synced = self.access == Access::Durable;
        if is_synced && self.sync_delay.is_zero() {
            Arc::new(file)
        } else {
            Arc::new(WrappedFile { file, is_synced, sync_delay: self.sync_delay })
        }
    }
}

impl StorageBackend for Directory {
    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        // A name that is not UTF-8 is none of the log's.
        let name = |entry: io::Result<fs::DirEntry>| entry.map(|entry| entry.file_name().into_string().ok());
        fs::read_dir(&self.path)?.filter_map(|entry| name(entry).transpose()).collect()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        Ok(self.wrap(options.open(self.path(name))?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        let is_written = self.access != Access::ReadOnly;
        Ok(self.wrap(OpenOptions::new().read(true).write(is_written).open(self.path(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn sync_names(&self) -> io::Result<()> {
        if self.access == Access::Durable {
            atomic_file::sync_directory(&self.path)?;
            thread::sleep(self.sync_delay);
        }
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let system = rustix::fs::statvfs(&self.path)?;
        Ok(system.f_bavail.saturating_mul(system.f_frsize))
    }
}

impl StorageFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(bytes, offset)
    }

    fn write_at(&self, slices: &[IoSlice<'_>], mut offset: u64) -> io::Result<()> {
        let mut slices = slices.to_vec();
        let mut rest = &mut slices[..];
        // Empty slices at the start would look like a write of nothing.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let count = rest.len().min(SLICE_COUNT);
            match pwritev(self, &rest[..count], offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(size) => {
                    offset += size as u64;
                    IoSlice::advance_slices(&mut rest, size);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

impl StorageFile for WrappedFile {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        StorageFile::read_at(&self.file, bytes, offset)
    }

    fn write_at(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<()> {
        StorageFile::write_at(&self.file, slices, offset)
    }

    fn sync(&self) -> io::Result<()> {
        if self.is_synced {
            self.file.sync_data()?;
            thread::sleep(self.sync_delay);
        }
        Ok(())
    }
}
