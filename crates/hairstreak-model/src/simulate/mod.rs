//! The simulation: the messages of a run, event by event, on virtual time.
//!
//! ```text
//!   source --> [queue] stage --> (hub) --> [queue] stage --> sink        each box: instances with a queue of bounded length
//!      ^                                                       |
//!      +------------------- acknowledgements <-----------------+         with a window
//! ```
//!
//! A server (an instance, a hub, either end) takes a message from its queue, receives it, works or waits, takes its turn at what its stage
//! shares, chooses the next instance, and sends. It waits where no instance has room. Work shares the cores of the machine
//! evenly. Times are whole nanoseconds, random numbers follow from a seed, ties are decided by order: the same input has the same result.
//!
//! Reading order: `load` (what comes), `layout` (who there is), `server`, `engine` (the events), `cores`, `carriage` (the fabric), `tally`
//! (what is counted), [`Simulation`].

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
