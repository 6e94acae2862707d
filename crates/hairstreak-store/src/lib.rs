//! The data directory of a node, and the definitions in it (virtual hosts, users, queues and the like).
//!
//! A definition has a kind, a key and a value as bytes; the store does not interpret them. [`DataDirectory`] reserves
//! a directory for one process and one node. [`DefinitionStore`] commits changes in groups, and reports when each
//! change is on disk. docs/format.md describes the files.

mod atomic_file;
mod definitions;
mod directory;
pub mod log;

pub use definitions::{DefinitionStore, Entry, Kind, StoreError, Write};
pub use directory::{DataDirectory, DataDirectoryError, DirectoryReader, LockHolder, NodeId};
