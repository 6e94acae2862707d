//! Benchmarks of Hairstreak: each scenario beside a rival and beside a limit program, all in the same run.
//!
//! This crate alone knows the rivals. It is not linked by the product: `hairstreak bench NAME` executes the binary
//! `hairstreak-bench`. A study has a folder: [`sockets`], [`streams`] (the multi-core test), [`pipeline`] (tasks, workers, results),
//! [`services`] (requests, replies), [`connections`] (ten thousand idle ones), [`broker`] (AMQP against RabbitMQ), [`h3`] (messages
//! into queues of two nodes), [`fabric`] (a simulated Data Vortex beside other networks) and [`planner`] (predictions against
//! runs). The [`frame`] is shared by all, and the [`sample`] of sockets by the first two.
//!
//! Invariants: a figure comes out of a measurement in this run or is null. Compared contenders are interleaved. A
//! sample counts only if its receiver saw every message in its full size.
//!
//! ```text
//! main -> STUDY/benchmark -> frame/turns -> STUDY/sample -> frame/processes (worker processes: main -> STUDY/part)
//!                         -> frame/report -> text | JSON
//! ```

pub mod broker;
pub mod connections;
pub mod fabric;
pub mod frame;
pub mod h3;
pub mod pipeline;
pub mod planner;
pub mod sample;
pub mod services;
pub mod sockets;
pub mod streams;
