//! `hairstreak-bench streams`: the multi-core test of ZeroMQ's authors ("Scaling on Multi-core Systems").
//!
//! 1, 2, 3 and 4 independent streams of a million messages each, at sizes from 1 to 1024 bytes by powers of two,
//! three samples each. As in the source, there is a process that sends and one that receives, and nothing is
//! shared between streams: each has a client thread, a socket and a component (libzmq: a context with its own I/O
//! thread) at either end. Unlike there, both processes are on one machine, over the loopback interface.
//!
//! The source found that four streams do not carry four times as much, and asked why: network card, kernel sockets or
//! memory? The *controls* answer: the processor time of a message from one stream to four, over tcp, over shared
//! memory, which has no kernel socket in it, and between threads. The `conclusion` compares them.

mod benchmark;
mod conclusion;
mod plan;

pub use benchmark::run;
pub use plan::Settings;
