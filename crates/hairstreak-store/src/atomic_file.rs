//! Atomic replacement of files, and directories whose entries survive a loss of power.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Suffix of a file's name until the file is complete.
pub(crate) const UNFINISHED: &str = ".new";

/// Creates or replaces the file `name` in `directory`. After a crash or a loss of power at any moment, the directory
/// has either the former file or the new one. A file of the same name and [`UNFINISHED`] may be left; the next call
/// replaces it.
///
/// # Errors
///
/// The system's error. The former file, if there was one, is unchanged. If only the sync of the directory failed, the
/// file may be the former or the new one.
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

/// Copies a file to the new file `name` in `directory`, with mode 0600. The content is on the medium when this returns, and the name after
/// [`sync_directory`]. Returns false if there is no file to copy.
///
/// # Errors
///
/// The system's error. A part of the copy may be left.
pub(crate) fn copy(from: &Path, directory: &Path, name: &str) -> io::Result<bool> {
    let mut source = match File::open(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(name))?;
    io::copy(&mut source, &mut file)?;
    file.sync_all()?;
    Ok(true)
}

/// Syncs the entries of a directory to the medium. A file that was created or renamed keeps its name after a loss of
/// power.
///
/// # Errors
///
/// The system's error.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
