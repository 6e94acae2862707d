//! `Disk`: the place of the file of the definitions. The tests have disks that fail and lose their power.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use redb::StorageBackend;
use redb::backends::FileBackend;

use crate::atomic_file;

/// A place for one file.
pub(super) trait Disk: Debug + Send {
    /// Returns the file's path, for errors.
    fn file(&self) -> &Path;

    /// Opens the file for reading and writing with a descriptor of its own. Returns `None` if there is no file.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn open(&self) -> io::Result<Option<Box<dyn StorageBackend>>>;

    /// Creates the file with these bytes, atomically, and syncs it to the medium.
    ///
    /// # Errors
    ///
    /// The system's error.
    fn create(&self, bytes: &[u8]) -> io::Result<()>;
}

/// A file in a directory.
#[derive(Debug)]
pub(super) struct FileDisk {
    directory: PathBuf,
    name: &'static str,
    file: PathBuf,
    is_read_only: bool,
}

impl FileDisk {
    pub fn new(directory: &Path, name: &'static str) -> FileDisk {
        FileDisk { directory: directory.to_owned(), name, file: directory.join(name), is_read_only: false }
    }

    /// A file that is only read: a write fails.
    pub fn read_only(directory: &Path, name: &'static str) -> FileDisk {
        FileDisk { is_read_only: true, ..FileDisk::new(directory, name) }
    }
}

impl Disk for FileDisk {
    fn file(&self) -> &Path {
        &self.file
    }

    fn open(&self) -> io::Result<Option<Box<dyn StorageBackend>>> {
        match OpenOptions::new().read(true).write(!self.is_read_only).open(&self.file) {
            Ok(file) if self.is_read_only => Ok(Some(Box::new(ReadOnlyFile(file)))),
            Ok(file) => Ok(Some(Box::new(FileBackend::new(file).map_err(io::Error::other)?))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&self, bytes: &[u8]) -> io::Result<()> {
        atomic_file::write(&self.directory, self.name, bytes)
    }
}

/// A file that is only read. It has no locks, which need a descriptor for writing: the lock of the directory keeps a node out.
#[derive(Debug)]
struct ReadOnlyFile(File);

impl StorageBackend for ReadOnlyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(out, offset)
    }

    fn set_len(&self, _length: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, _offset: u64, _data: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}
