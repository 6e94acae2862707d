//! `hairstreak-bench pipeline`: tasks from a ventilator through four workers to a sink, with a bound on those in flight.
//!
//! The question comes from "Batch Acknowledged Pipelines with ZeroMQ": the cost of knowing that results have come. Six
//! processes over tcp or ipc, tasks of 8 bytes, three schemes with the same number in flight: the article's own on
//! libzmq (a batch, then one acknowledgement from the sink), the scheme that its readers asked for (REQ/REP, one
//! message or a block of them at a time), and ours (`hairstreak::pipeline`, its window). The article's second
//! conclusion is the same cost if tasks take time.
//!
//! Invariants: a sample counts only if the sink had every task; of ours it checks that each came exactly once. The
//! ventilator has the clock: from the first task sent to knowing that all are done.

mod benchmark;
mod case;
mod conclusion;
mod part;
mod plan;
mod sample;

pub use benchmark::run;
pub use part::take_part;
pub use plan::Settings;
