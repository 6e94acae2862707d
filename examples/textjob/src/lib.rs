//! The real job of `make run`: which parts of a machine's text files are near-copies of one another?
//!
//! The text is cut into chunks. Stage one ([`extract`]) turns a chunk into its features, stage two
//! ([`reduce`]) turns features into a signature of one line. Both are pure functions, so the same chunks give the
//! same lines, whether one process calls both functions (the monolith) or two kinds of process one each
//! (the butterfly).
//!
//! Reading order: [`corpus`], [`extract`], [`reduce`].

pub mod corpus;
pub mod extract;
pub mod features;
pub mod reduce;
