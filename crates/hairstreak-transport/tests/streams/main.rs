//! Streams of every kind: what they have in common, how each is established and ends, TLS, the relay on event loops, and output
//! that is held there.

mod certificate;
mod conformance;
mod deaths;
mod end;
mod failure;
mod handover;
mod held;
mod interoperability;
mod kind;
mod memory;
mod middle;
mod relay;
mod strangers;
mod tls;
mod turns;
