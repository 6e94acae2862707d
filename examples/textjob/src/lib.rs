//! The real job of `make run`: which parts of a machine's text files are near-copies of one another?
//!
//! The text is cut into chunks. Stage one ([`extract`]) turns a chunk into its features, stage two
//! ([`reduce`]) turns features into a signature of one line. Both are pure functions, so the same chunks give the
//! same lines, whether one process calls both functions ([`monolith`]) or two kinds of process one each
//! ([`butterfly`]). Before either runs, [`calibration`] predicts the butterfly's rate.
//!
//! Reading order: [`corpus`], [`extract`], [`features`], [`reduce`]; [`job`], [`calibration`], [`monolith`],
//! [`butterfly`], [`stage`]; [`outcome`], [`near_copies`].

pub mod butterfly;
pub mod calibration;
pub mod corpus;
pub mod extract;
pub mod failure;
pub mod features;
pub mod job;
pub mod monolith;
pub mod near_copies;
pub mod outcome;
pub mod reduce;
pub mod stage;
