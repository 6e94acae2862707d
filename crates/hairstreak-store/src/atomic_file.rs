//! Files that are there whole or not at all, and directories whose entries survive a loss of power.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The end of a file's name until the file is whole.
pub(crate) const UNFINISHED: &str = ".new";

/// Makes the file `name` in `directory`, or replaces the file. After a crash or a loss of power at any moment the file is the
/// former one or this one; a file of the same name and [`UNFINISHED`] may be left, which the next call replaces.
///
/// # Errors
///
/// The system's. The former file, if there was one, is still there, unless only the directory could not be synced: then the file
/// may be either.
pub(crate) fn write(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let unfinished = directory.join(format!("{name}{UNFINISHED}"));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&unfinished, directory.join(name))?;
    sync_directory(directory)
}

/// Has the directory's entries written to the medium: a file that was made or renamed is found by its name after a loss of power.
///
/// # Errors
///
/// The system's.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
