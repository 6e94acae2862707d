//! The lock of a data directory: a file that one process locks, and that contains the process id.
//!
//! The kernel releases the lock when the process ends, however it ends. The file stays: removing it would let two
//! processes lock two files of the same name.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::DataDirectoryError;
use super::lock_holder::LockHolder;

/// Name of the file in the data directory.
pub(super) const FILE_NAME: &str = "lock";

/// A held lock, released on drop.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    file: File,
}

impl DirectoryLock {
    /// Takes the lock of the directory at `path`, and writes this process into the file.
    pub(super) fn take(path: &Path) -> Result<DirectoryLock, DataDirectoryError> {
        let lock = path.join(FILE_NAME);
        let failed = |action| {
            let lock = &lock;
            move |error| DataDirectoryError::of(action, lock, error)
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&lock).map_err(failed("open"))?;
        lock_file(&mut file, path, FlockOperation::NonBlockingLockExclusive)?;
        let holder = LockHolder::own_text();
        // Overwrites the former holder's text, which works even on a full disk.
        file.write_all_at(holder.as_bytes(), 0).map_err(failed("write"))?;
        file.set_len(holder.len() as u64).map_err(failed("write"))?;
        Ok(DirectoryLock { file })
    }

    /// Takes the lock for a process that only reads, together with other readers. The file is unchanged, and names a former holder.
    /// `None`: there is no such file, so that no process uses the directory.
    pub(super) fn take_shared(path: &Path) -> Result<Option<DirectoryLock>, DataDirectoryError> {
        let lock = path.join(FILE_NAME);
        let mut file = match File::open(&lock) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(DataDirectoryError::of("open", &lock, error)),
        };
        lock_file(&mut file, path, FlockOperation::NonBlockingLockShared)?;
        Ok(Some(DirectoryLock { file }))
    }
}

/// Locks the file of the directory at `path`.
fn lock_file(file: &mut File, path: &Path, operation: FlockOperation) -> Result<(), DataDirectoryError> {
    match flock(&*file, operation) {
        Ok(()) => Ok(()),
        Err(Errno::WOULDBLOCK) => {
            // The text is that of a writer. Readers leave it as it was.
            let is_read = flock(&*file, FlockOperation::NonBlockingLockShared).is_ok();
            let holder = if is_read { LockHolder::default() } else { LockHolder::read(file) };
            Err(DataDirectoryError::InUse { path: path.to_owned(), holder })
        }
        Err(error) => Err(DataDirectoryError::of("lock", &path.join(FILE_NAME), error.into())),
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Closing alone could leave the lock with a child process that is just starting: until it executes its
        // program, the child has the file open, too.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
