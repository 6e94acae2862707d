//! `DirectoryReader`: a data directory that tools read. Nothing in the directory changes.
//!
//! A reader takes the lock of the directory together with other readers. A node that has the directory keeps readers out, and readers
//! keep a node out. The text of the lock's file is left as it is.

use std::path::{Path, PathBuf};

use super::data_directory::{check_entries, read_node_file};
use super::error::DataDirectoryError;
use super::lock::DirectoryLock;
use super::node_file::NodeFile;
use super::node_id::NodeId;

/// A node's data directory, for reading. The lock is held until this value is dropped.
#[derive(Debug)]
pub struct DirectoryReader {
    path: PathBuf,
    node: NodeFile,
    _lock: Option<DirectoryLock>,
}

impl DirectoryReader {
    /// Opens the directory at `path`, of any node.
    ///
    /// # Errors
    ///
    /// See [`DataDirectoryError`].
    pub fn open(path: &Path) -> Result<DirectoryReader, DataDirectoryError> {
        let empty = || DataDirectoryError::Empty { path: path.to_owned() };
        if !check_entries(path)? {
            return Err(empty());
        }
        let lock = DirectoryLock::take_shared(path)?;
        let node = read_node_file(path)?.ok_or_else(empty)?;
        Ok(DirectoryReader { path: path.to_owned(), node, _lock: lock })
    }

    /// Returns the directory's path, as it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the node that owns the directory.
    pub fn node_name(&self) -> &str {
        &self.node.name
    }

    /// Returns the directory's id.
    pub fn node_id(&self) -> NodeId {
        self.node.id
    }

    /// Returns whether a message log was created here. If its files are missing, the messages are lost.
    pub fn has_messages(&self) -> bool {
        self.node.has_messages
    }

    /// Returns whether a file of definitions was created here. If that file is missing, the definitions are lost.
    pub(crate) fn has_definitions(&self) -> bool {
        self.node.has_definitions
    }
}
