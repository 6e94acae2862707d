//! Ten thousand connections: the rate of connects, the cost of an idle connection, and their cost to a busy one.
//!
//! Two servers are measured, each a process of its own; the benchmark's own process has the other ends:
//!
//! - `relay`: event loops with the relay of the transport's examples. Half of the connections are clients, the other half lead
//!   onward, back into the benchmark.
//! - `node`: the node's broker of services. The peers are idle ZMTP clients, which answer PINGs (ZMTP 3.1) or know
//!   none (3.0).
//!
//! Besides, two event loops in the benchmark's own process hand letters to each other.
//!
//! Memory is the growth of the resident memory (`VmRSS`) of the server's process. The kernel's memory for its sockets
//! is not included. Processor time is the server's own, as the kernel counts it in steps of 10 ms.

mod benchmark;
mod clients;
mod mail;
mod server;

pub use benchmark::{Settings, run};
pub use server::take_part;
