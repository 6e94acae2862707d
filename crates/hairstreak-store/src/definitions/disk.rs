//! `Disk`: the place of the file of the definitions. The tests have disks that fail and lose their power.

use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io;
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
}

impl FileDisk {
    pub fn new(directory: &Path, name: &'static str) -> FileDisk {
        FileDisk { directory: directory.to_owned(), name, file: directory.join(name) }
    }
}

impl Disk for FileDisk {
    fn file(&self) -> &Path {
        &self.file
    }

    fn open(&self) -> io::Result<Option<Box<dyn StorageBackend>>> {
        match OpenOptions::new().read(true).write(true).open(&self.file) {
            Ok(file) => Ok(Some(Box::new(FileBackend::new(file).map_err(io::Error::other)?))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&self, bytes: &[u8]) -> io::Result<()> {
        atomic_file::write(&self.directory, self.name, bytes)
    }
}
