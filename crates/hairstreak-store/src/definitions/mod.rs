//! The definitions of a node: keys with values, by kind, committed in groups by a thread of their own.
//!
//! ```text
//! DefinitionStore ── submit ──> Queue ── a group ──> Writer (the thread) ──> Committer ──> Database (redb) ──> DefinitionFile ──> Disk
//!        done <──────────────────────────────────────┘                          └ Kept: what a failed commit could not write
//! ```
//!
//! The committer has no thread and no clock, and the disk is a trait: the tests lose the power of simulated disks.

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
