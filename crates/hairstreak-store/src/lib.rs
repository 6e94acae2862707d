//! What a node keeps on disk: its data directory, and in the directory the definitions (virtual hosts, users, queues and the like).
//!
//! Not what a definition means: the store knows a kind, a key and a value as bytes. [`DataDirectory`] gives one directory to one
//! process and one node. [`DefinitionStore`] commits changes in groups, and says for each change when it is on disk.
//! docs/format.md says what lies in the directory.

mod atomic_file;
mod definitions;
mod directory;

pub use definitions::{DefinitionStore, Entry, Kind, StoreError, Write};
pub use directory::{DataDirectory, DataDirectoryError, LockHolder, NodeId};
