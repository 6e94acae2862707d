//! Ten thousand connections: how fast they come, what each costs while nothing happens, and what they cost a busy one.
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
//! Memory is what the server's process has in memory (`VmRSS`) beyond what it had before; what the kernel keeps for its
//! sockets is not in it. Processor time is the server's own, as the kernel counts it in steps of 10 ms.

mod benchmark;
mod clients;
mod mail;
mod server;

pub use benchmark::{Settings, run};
pub use server::take_part;
