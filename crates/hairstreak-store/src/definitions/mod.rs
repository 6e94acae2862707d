//! The definitions of a node: keys with values, by kind, committed in groups by a dedicated thread.
//!
//! ```text
//! DefinitionStore ── submit ──> Queue ── a group ──> Writer (the thread) ──> Committer ──> Database (redb) ──> DefinitionFile ──> Disk
//!        done <──────────────────────────────────────┘                          └ Kept: the changes of failed commits
//! ```
//!
//! The committer has no thread and no clock, and the disk is a trait. The tests cut the power of simulated disks.

mod committer;
mod database;
mod disk;
mod entry;
mod error;
mod file;
mod kept;
mod queue;
mod store;
#[cfg(test)]
mod tests;
mod writer;

pub use entry::{Entry, Kind, Write};
pub use error::StoreError;
pub use store::DefinitionStore;
