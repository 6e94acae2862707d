//! The process of one stage instance, as [`run`](super::run) starts it: `hairstreak stage ROLE`.
//!
//! It finds its endpoints in `HAIRSTREAK_IN` and `HAIRSTREAK_OUT`, lives no longer than its runner
//! (`lifeline`), and says on its standard output how it ended (`Ending`). Whatever is not built
//! in runs as a child of this process, in the same process group; what leaves that group is adopted and ended
//! all the same (`descendants`).
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
