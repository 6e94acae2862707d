//! Whether the planner is right: ten topologies predicted first, and then run, one after the other.
//!
//! Five keep the cores of a machine of two busy, two want more than it has, and three have random times. The predictions are those of
//! `hairstreak simulate --machine`, with a calibration from just before, and stand before the first run. A topology with random times is
//! predicted with several seeds, and the mean counts. A run during which others kept more than [`QUIET_CORES`] busy does not count, as long as there are
//! runs that do.

mod benchmark;
mod error;
mod others;
mod report;
mod topologies;

pub use benchmark::run;
pub use error::PlannerError;
pub use others::QUIET_CORES;
