//! The process of one stage instance, as [`run`](super::run) starts it: `hairstreak stage ROLE`.
//!
//! The process finds its endpoints in `HAIRSTREAK_IN` and `HAIRSTREAK_OUT`, and lives no longer than its runner
//! (`lifeline`). It reports its end on standard output (`Ending`). A command runs as a child of this process, in the
//! same process group. Processes that leave that group are adopted, and ended too (`descendants`).
//!
//! Reading order: `Role`, [`main`], `lifeline`, `builtin`, `filter` (`inlet`, `outlet`), `environment`, `Ending`.

mod builtin;
mod ending;
mod entry;
mod environment;
mod filter;
mod inlet;
mod lifeline;
mod outlet;
mod role;

pub(super) use ending::Ending;
pub use entry::main;
pub(super) use environment::{IN, INSTANCE, OUT, RUNNER, STAGE};
pub(crate) use environment::{plain, settled};
pub(super) use filter::FINISHED;
pub(super) use role::Role;
