//! `hairstreak map` and `hairstreak map-worker` on the command line.

mod bounds;
mod each;
mod endings;
mod filters;
mod harness;
mod misfits;
mod records;
mod workers;
