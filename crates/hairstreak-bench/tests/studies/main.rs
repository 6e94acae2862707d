//! The studies as their users see them: tiny runs of the real program, their JSON, their words, their exit codes.
//!
//! The tests are not about figures: this machine may be busy, and the build is not optimized.

mod broker;
mod connections;
mod h3;
mod pipeline;
mod services;
mod sockets;
mod streams;

/// The program.
const BINARY: &str = env!("CARGO_BIN_EXE_hairstreak-bench");
