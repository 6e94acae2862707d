//! The simulation: the messages of a run, event by event, on virtual time.
//!
//! ```text
//!   source --> [queue] stage --> (hub) --> [queue] stage --> sink        each box: instances with a queue of bounded length
//!      ^                                                       |
//!      +------------------- acknowledgements <-----------------+         with a window
//! ```
//!
//! A server (an instance, a hub, the source or the sink) takes a message from its queue, receives it, works or waits, holds the shared
//! resource of its stage in turn, chooses the next instance, and sends. While no instance has room, the server is blocked. Work shares
//! the cores of the machine evenly. Times are whole nanoseconds, random numbers follow from a seed, and events of one instant keep
//! their order: the same input has the same result.
//!
//! Reading order: `load` (the messages), `layout` (steps and servers), `server`, `engine` (the events), `cores`, `carriage` (the fabric),
//! `tally` (the counts), [`Simulation`].

mod carriage;
mod cores;
mod engine;
mod layout;
mod load;
mod server;
mod simulation;
mod tally;

pub use load::{Arrivals, EXACT_MESSAGES_MAX, Load};
pub use simulation::{Bottleneck, Depth, Latency, Simulation, Station, simulate};
