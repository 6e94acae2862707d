//! `DirectoryCopy`: a new data directory that a tool makes from another one.
//!
//! The file `node` is written last. Until then a node refuses the directory: a copy that was cut off never passes for a whole one.
//!
//! The copy has an id of its own. Two directories with one id would have segments with equal checksums, and a file of the one could pass for
//! a later segment of the other.

use std::fs;
use std::path::{Path, PathBuf};

use super::data_directory::{check_entries, create_directory};
use super::directory_reader::DirectoryReader;
use super::error::DataDirectoryError;
use super::lock::DirectoryLock;
use super::node_file::{self, NodeFile};
use super::node_id::NodeId;
use crate::atomic_file;

/// The file of the definitions.
const DEFINITIONS: &str = "definitions.redb";
/// The file of the node's key for CURVE, which clients know.
const KEY: &str = "curve.key";

/// A data directory that is not complete. The lock is held until this value is dropped.
#[derive(Debug)]
pub(crate) struct DirectoryCopy {
    path: PathBuf,
    node: NodeFile,
    _lock: DirectoryLock,
}

impl DirectoryCopy {
    /// Begins a copy at `path`, and copies the definitions and the key. A missing directory is created, and any other must be empty.
    ///
    /// # Errors
    ///
    /// See [`DataDirectoryError`].
    pub fn begin(from: &DirectoryReader, path: &Path) -> Result<DirectoryCopy, DataDirectoryError> {
        let failed = |error| DataDirectoryError::of("write", path, error);
        if is_within(path, from.path()) {
            return Err(DataDirectoryError::Within { path: path.to_owned() });
        }
        create_directory(path)?;
        if check_entries(path)? {
            return Err(DataDirectoryError::Occupied { path: path.to_owned() });
        }
        let lock = DirectoryLock::take(path)?;
        let copy = |name: &str| {
            let failed = |error| DataDirectoryError::of("copy", &from.path().join(name), error);
            atomic_file::copy(&from.path().join(name), path, name).map_err(failed)
        };
        let has_definitions = copy(DEFINITIONS)?;
        copy(KEY)?;
        let id = NodeId::random().map_err(failed)?;
        let node = NodeFile { name: from.node_name().to_owned(), id, has_definitions, has_messages: true };
        Ok(DirectoryCopy { path: path.to_owned(), node, _lock: lock })
    }

    /// Returns the directory's path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory's id.
    pub fn node_id(&self) -> NodeId {
        self.node.id
    }

    /// Completes the copy, which has messages by now. A node can begin with the directory.
    ///
    /// # Errors
    ///
    /// See [`DataDirectoryError`].
    pub fn finish(self) -> Result<(), DataDirectoryError> {
        let text = self.node.to_text();
        atomic_file::write(&self.path, node_file::FILE_NAME, text.as_bytes())
            .map_err(|error| DataDirectoryError::of("write", &self.path.join(node_file::FILE_NAME), error))
    }
}

/// Returns true if a path that may not exist is a directory or lies in it.
fn is_within(path: &Path, directory: &Path) -> bool {
    let Ok(path) = std::path::absolute(path) else { return false };
    let existing = path.ancestors().find_map(|ancestor| fs::canonicalize(ancestor).ok());
    let directory = fs::canonicalize(directory).ok();
    existing.zip(directory).is_some_and(|(path, directory)| path.starts_with(directory))
}
