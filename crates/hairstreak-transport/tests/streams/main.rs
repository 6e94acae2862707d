//! Streams of every kind: their common behaviour, their handshakes and ends, TLS, the relay on event loops, and held output on
//! event loops.

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
