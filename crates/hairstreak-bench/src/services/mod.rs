//! `hairstreak-bench services`: requests to a service and their replies, one by one and many at a time.
//!
//! The question comes from "Asynchronous Majordomo Pattern": the cost of waiting for each reply. Its two programs are
//! the two cases. `tripping` is a proxy between a client and a worker that echoes each request, all three threads of
//! one process, over tcp: ours and libzmq's. `services` is a Majordomo broker with a client and workers, each a process
//! of its own: a plain one on libzmq, written to the published protocol.
//!
//! Invariants: a sample counts only if the client had as many replies as it sent requests, each with the body that it sent.
//! Before the clock starts the client has had a reply of every worker.

mod benchmark;
mod part;
mod plan;
mod sample;

pub use benchmark::run;
pub use part::take_part;
pub use plan::Settings;
