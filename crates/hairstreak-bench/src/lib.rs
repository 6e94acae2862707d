//! Benchmarks of Hairstreak: each scenario beside a rival and beside a limit program, all in the same run.
//!
//! This crate alone knows the rivals. It is not linked by the product: `hairstreak bench NAME` executes the binary
//! `hairstreak-bench`. There is one module per benchmark; [`sockets`] is the first, and `streams` (the multi-core
//! test) gets its own beside it.
//!
//! Invariants: a figure comes out of a measurement made in this run or is null; whatever is compared is interleaved;
//! a sample counts only if its receiver saw every message in its full size.
//!
//! ```text
//! main -> arguments -> sockets/benchmark -> sockets/sample -> process/ (one or two workers per sample)
//!                                        -> sockets/report -> sockets/table | JSON
//! worker processes: main -> sockets/worker -> sockets/contender/{ours, libzmq, stream_limit, ring_limit}
//! ```

pub mod allocations;
pub mod arguments;
mod cores;
pub mod machine;
pub mod process;
pub mod sockets;
pub mod statistics;
pub mod tracer;
pub mod usage;
