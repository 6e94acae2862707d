//! `hairstreak-bench plan`: ten topologies, predicted first and then run.
//!
//! Five topologies keep the cores of a machine of two busy, two want more than it has, and three have random times. The
//! predictions come from `hairstreak simulate --machine`, with a fresh calibration, and are written before the first
//! run. A topology with random times is predicted with several seeds, and the mean counts. A run during which other
//! processes kept more than 0.04 cores busy does not count, as long as there are runs that do.

mod benchmark;
mod others;
mod topologies;

pub use benchmark::{Settings, run};
