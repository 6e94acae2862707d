//! `ReadOnly`: a directory whose files stay as they are. Tools recover a log in it as a start of the node does.
//!
//! Writes, syncs and changes of names have no effect, and report success. A recovery thus runs to its end, and its index is that of a start.

use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::sync::Arc;

use super::storage::{StorageBackend, StorageFile};

/// A directory that is only read. A missing one has no files.
#[derive(Debug)]
pub(super) struct ReadOnly(pub Arc<dyn StorageBackend>);

/// A file that is only read.
#[derive(Debug)]
struct ReadOnlyFile(Arc<dyn StorageFile>);

impl StorageBackend for ReadOnly {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        match self.0.list() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed,
        }
    }

    fn create(&self, _name: &str) -> io::Result<Arc<dyn StorageFile>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(ReadOnlyFile(self.0.open(name)?)))
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.0.free_bytes()
    }
}

impl StorageFile for ReadOnlyFile {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(bytes, offset)
    }

    fn write_at(&self, _slices: &[IoSlice<'_>], _offset: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
