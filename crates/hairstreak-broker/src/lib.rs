//! What a Hairstreak node decides, as state machines: events in, effects out.
//!
//! Nothing here names a socket, a runtime or a clock. Time is an argument: how long ago whoever
//! drives the machine chose to start counting. So a test runs a day of leases in a millisecond, and
//! the same events always have the same effects.

pub mod directory;
pub mod service;
