//! Settlement in the engine: to whom a settled PUSH gives its messages, and when a PULL tells what it settled.

mod receiving;
mod sending;

pub(crate) use sending::Pace;
