//! The topology file: its keys as typed (`typed`), the meaning of its sections (`stage`, `ends`), and the `Topology` that
//! they make (`topology`).

mod ends;
mod stage;
mod topology;
mod typed;

pub use topology::{FILE_SIZE_MAX, LoadError, PlanError, Topology};
