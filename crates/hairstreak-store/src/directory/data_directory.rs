//! `DataDirectory`: a directory of one node, open in one process.
//!
//! | entry | contents |
//! |---|---|
//! | `lock` | locked while a process has the directory open; the process id |
//! | `node` | the version of the format, the node's name and its id |
//! | others | files of the stores in this crate |
//!
//! `node` is written first, atomically. A directory that has other entries and no `node` is not a data directory.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::DataDirectoryError;
use super::lock::{self, DirectoryLock};
use super::node_file::{self, FORMAT_VERSION, NODE_FILE_SIZE_MAX, NodeFile, NodeFileError};
use super::node_id::NodeId;
use crate::atomic_file;

/// A node's data directory. The lock is held until this value and the stores opened with it are dropped.
#[derive(Debug)]
pub struct DataDirectory {
    path: PathBuf,
    node: NodeFile,
    is_new: bool,
    has_definitions: AtomicBool,
    has_messages: AtomicBool,
    lock: Arc<DirectoryLock>,
}

impl DataDirectory {
    /// Opens the directory at `path` for the node `node_name`. A missing directory is created with mode 0700,
    /// including its missing parents.
    ///
    /// # Errors
    ///
    /// See [`DataDirectoryError`]. A directory in use, of another node, of another version, or with files of another
    /// program stays unchanged.
    pub fn open(path: &Path, node_name: &str) -> Result<DataDirectory, DataDirectoryError> {
        node_file::check_name(node_name)
            .map_err(|reason| DataDirectoryError::NodeName { name: node_name.to_owned(), reason })?;
        create_directory(path)?;
        check_entries(path)?;
        let lock = DirectoryLock::take(path)?;
        let recorded = read_node_file(path)?;
        let is_new = recorded.is_none();
        let node = match recorded {
            Some(node) => node,
            None => create_node_file(path, node_name)?,
        };
        if node.name != node_name {
            let wanted = node_name.to_owned();
            return Err(DataDirectoryError::OtherNode { path: path.to_owned(), recorded: node.name, wanted });
        }
        let has_definitions = AtomicBool::new(node.has_definitions);
        let has_messages = AtomicBool::new(node.has_messages);
        let lock = Arc::new(lock);
        Ok(DataDirectory { path: path.to_owned(), node, is_new, has_definitions, has_messages, lock })
    }

    /// Returns the directory's path, as it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the node that owns the directory.
    pub fn node_name(&self) -> &str {
        &self.node.name
    }

    /// Returns the directory's id, which stays the same when the node gets another name.
    pub fn node_id(&self) -> NodeId {
        self.node.id
    }

    /// Returns whether this process created the directory's contents.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Returns whether a file of definitions was created here. If that file is missing now, the definitions are lost.
    pub(crate) fn has_definitions(&self) -> bool {
        self.has_definitions.load(Ordering::Relaxed)
    }

    /// Records in the file `node` that the file of definitions exists. That file is on the medium already.
    ///
    /// # Errors
    ///
    /// The system's error, with the file.
    pub(crate) fn note_definitions(&self) -> Result<(), (PathBuf, io::Error)> {
        self.note(&self.has_definitions)
    }

    /// Returns whether a message log was created here. If its files are missing now, the messages are lost.
    pub fn has_messages(&self) -> bool {
        self.has_messages.load(Ordering::Relaxed)
    }

    /// Records in the file `node` that the message log exists. Its folder is on the medium already.
    ///
    /// # Errors
    ///
    /// The system's error, with the file.
    pub(crate) fn note_messages(&self) -> Result<(), (PathBuf, io::Error)> {
        self.note(&self.has_messages)
    }

    /// Records a store that has begun.
    fn note(&self, has_begun: &AtomicBool) -> Result<(), (PathBuf, io::Error)> {
        if has_begun.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let text = NodeFile {
            has_definitions: self.has_definitions(),
            has_messages: self.has_messages(),
            ..self.node.clone()
        }
        .to_text();
        atomic_file::write(&self.path, node_file::FILE_NAME, text.as_bytes()).map_err(|error| {
            has_begun.store(false, Ordering::Relaxed);
            (self.path.join(node_file::FILE_NAME), error)
        })
    }

    /// Returns the lock, for a store that outlives this value.
    pub(crate) fn lock(&self) -> Arc<DirectoryLock> {
        Arc::clone(&self.lock)
    }
}

/// Creates the directory and its missing parents, and syncs their names to the medium.
pub(super) fn create_directory(path: &Path) -> Result<(), DataDirectoryError> {
    let failed = |action| move |error| DataDirectoryError::of(action, path, error);
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(_) => return Err(DataDirectoryError::NotADirectory { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed("open")(error)),
    }
    let path = std::path::absolute(path).map_err(failed("create"))?;
    let missing: Vec<&Path> = path.ancestors().take_while(|ancestor| !ancestor.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed("create"))?;
    for parent in missing.iter().filter_map(|ancestor| ancestor.parent()) {
        atomic_file::sync_directory(parent).map_err(failed("create"))?;
    }
    Ok(())
}

/// Rejects a directory that holds files and no node file. Returns true if there is a node file, and false if the directory is empty.
pub(super) fn check_entries(path: &Path) -> Result<bool, DataDirectoryError> {
    let failed = |error| DataDirectoryError::of("read", path, error);
    let unfinished = format!("{}{}", node_file::FILE_NAME, atomic_file::UNFINISHED);
    // A new file system has `lost+found`.
    let harmless = [lock::FILE_NAME, &unfinished, "lost+found"];
    let mut foreign = None;
    for entry in fs::read_dir(path).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if name == node_file::FILE_NAME {
            return Ok(true);
        }
        if !harmless.iter().any(|harmless| name == *harmless) {
            foreign = Some(PathBuf::from(name));
        }
    }
    match foreign {
        Some(entry) => Err(DataDirectoryError::Foreign { path: path.to_owned(), entry }),
        None => Ok(false),
    }
}

/// Returns the node file, if there is one.
pub(super) fn read_node_file(path: &Path) -> Result<Option<NodeFile>, DataDirectoryError> {
    let file = path.join(node_file::FILE_NAME);
    let failed = |error| DataDirectoryError::of("read", &file, error);
    let mut bytes = Vec::new();
    match File::open(&file) {
        Ok(opened) => opened.take(NODE_FILE_SIZE_MAX).read_to_end(&mut bytes).map_err(failed)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    match NodeFile::parse(&bytes) {
        Ok(node) => Ok(Some(node)),
        Err(NodeFileError::Version(found)) => {
            Err(DataDirectoryError::Version { path: path.to_owned(), found, wanted: FORMAT_VERSION })
        }
        Err(NodeFileError::Store(store)) => Err(DataDirectoryError::Store { path: path.to_owned(), store }),
        Err(NodeFileError::Damaged(reason)) => Err(DataDirectoryError::Damaged { file, reason }),
    }
}

fn create_node_file(path: &Path, node_name: &str) -> Result<NodeFile, DataDirectoryError> {
    let failed = |error| DataDirectoryError::of("write", &path.join(node_file::FILE_NAME), error);
    let id = NodeId::random().map_err(failed)?;
    let node = NodeFile { name: node_name.to_owned(), id, has_definitions: false, has_messages: false };
    atomic_file::write(path, node_file::FILE_NAME, node.to_text().as_bytes()).map_err(failed)?;
    Ok(node)
}
