//! `hairstreak-bench sockets`: Hairstreak's patterns beside libzmq and beside a bare limit program.
//!
//! Five cases. `throughput`: one end sends a known number of messages of one size, the other verifies count and sizes
//! and times from its first message to its last. `curve`: the same, encrypted. `pub_sub`: the same from a PUB to four
//! SUBs, each of which has to get all. `round_trip`: a message goes out over one PUSH/PULL pair and comes back over a
//! second one, one at a time. `echo`: a DEALER keeps a thousand messages under way to a ROUTER that returns them.
//! Each case is the same for every contender. Each sample has processes of its own, so that luck with memory layout
//! does not stick to a row.
//!
//! A *scenario* is a case, transport and size; its contenders take turns within each repeat. A *row* of the report is
//! a scenario and a way of calling ("one" message per call, or "batch" calls of `BATCH_COUNT`); libzmq has no
//! batch calls, so both rows of a scenario hold the same libzmq figures.

mod benchmark;
mod plan;

pub use benchmark::run;
pub use plan::Settings;
