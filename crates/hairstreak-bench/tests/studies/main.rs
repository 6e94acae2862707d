//! The studies as their users see them: tiny runs of the real program, their JSON, their words, their exit codes.
//!
//! The tests are not about figures: this machine may be busy, and the build is not optimized.

use std::sync::{Mutex, MutexGuard, PoisonError};

mod broker;
mod connections;
mod fabric;
mod h3;
mod pipeline;
mod services;
mod sockets;
mod streams;

/// The program.
const BINARY: &str = env!("CARGO_BIN_EXE_hairstreak-bench");

/// Waits until no other test starts RabbitMQ. Several RabbitMQs that boot at once on two processors do not answer in time.
fn alone_with_rabbitmq() -> MutexGuard<'static, ()> {
    static RABBITMQ: Mutex<()> = Mutex::new(());
    RABBITMQ.lock().unwrap_or_else(PoisonError::into_inner)
}
