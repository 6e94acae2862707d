//! `hairstreak-bench sockets`: PUSH/PULL of Hairstreak beside libzmq and beside a bare limit program.
//!
//! Two cases. `throughput`: one end sends a known number of messages of one size, the other verifies count and sizes
//! and times from its first message to its last. `round_trip`: a message goes out over one PUSH/PULL pair and comes
//! back over a second one, one at a time, for every contender alike. tcp and ipc run in two processes, inproc in two
//! threads of one; each sample has processes of its own, so that luck with memory layout does not stick to a row.
//!
//! A *scenario* is a case, transport and size; its contenders take turns within each repeat. A *row* of the report is
//! a scenario and a way of calling ("one" message per call, or "batch" calls of `task::BATCH_COUNT`); libzmq has no
//! batch calls, so both rows of a scenario hold the same libzmq figures.

mod benchmark;
mod contender;
mod plan;
mod report;
mod sample;
mod table;
mod task;
mod worker;

pub use benchmark::{BenchmarkError, run};
pub use plan::Transport;
pub use task::{Calls, CaseName};
pub use worker::{WorkerError, work};
