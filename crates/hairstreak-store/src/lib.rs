//! The data directory of a node, and in the directory its definitions (virtual hosts, users, queues and the like).
//!
//! The store does not know the meaning of a definition: it has a kind, a key and a value as bytes. [`DataDirectory`] gives one directory to one
//! process and one node. [`DefinitionStore`] commits changes in groups, and says for each change when it is on disk.
//! docs/format.md describes the files.

mod atomic_file;
mod definitions;
mod directory;

pub use definitions::{DefinitionStore, Entry, Kind, StoreError, Write};
pub use directory::{DataDirectory, DataDirectoryError, LockHolder, NodeId};
