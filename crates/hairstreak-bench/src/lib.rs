//! Benchmarks of Hairstreak: each scenario beside a rival and beside a limit program, all in the same run.
//!
//! This crate alone knows the rivals. It is not linked by the product: `hairstreak bench NAME` executes the binary
//! `hairstreak-bench`. There is one module per benchmark, [`sockets`], [`streams`] (the multi-core test), [`pipeline`]
//! (tasks, workers, results), [`services`] (requests, replies), [`broker`] (AMQP against RabbitMQ), [`connections`] (ten thousand
//! that are idle) and [`planner`] (predictions against runs), and one for what the first two have in common, the [`sample`].
//!
//! Invariants: a figure comes out of a measurement made in this run or is null; whatever is compared is interleaved;
//! a sample counts only if its receiver saw every message in its full size.
//!
//! ```text
//! main -> arguments -> {sockets, streams}/benchmark -> sample/run -> processes -> process (one or two workers per sample)
//!                                                   -> report -> table | JSON | charts
//! pipeline/benchmark -> pipeline/sample -> processes -> process (six parts per sample: ventilator, sink, four workers)
//! services/benchmark -> services/sample -> processes -> process (one process per sample, or broker, client and workers)
//! broker/benchmark -> broker/server (RabbitMQ, node, limit: a keeper's process each) and broker/sample -> processes -> process
//! worker processes: main -> {pipeline, services}/part | main -> sample/worker -> sample/contender/{ours, libzmq, stream_limit, ring_limit}
//! ```

pub mod allocations;
pub mod arguments;
pub mod broker;
pub mod comparison;
pub mod connections;
mod cores;
mod figures;
pub mod h3;
pub mod machine;
pub mod pipeline;
pub mod planner;
pub mod process;
pub mod processes;
pub mod rival;
pub mod run;
pub mod sample;
pub mod services;
pub mod sockets;
pub mod statistics;
pub mod streams;
pub mod tracer;
pub mod usage;
