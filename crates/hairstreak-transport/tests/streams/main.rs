//! Streams of every kind: what they have in common, how each is established and ends, and the relay on event loops.

mod conformance;
mod deaths;
mod end;
mod handover;
mod kind;
mod relay;
