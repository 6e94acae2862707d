//! A worker process: its part of one sample, timed and verified.
//!
//! The measurer's clock runs from the first message it received to the last (one way), or from the end of the
//! warm-up to the last reply. Consumption counts for all messages, at both ends, from the moment the ends know each
//! other. A peer keeps its sockets open until it is told that the measurer has everything.

mod echo;
mod one_way;
mod round_trip;
mod work;

pub use work::{WorkerError, work};
