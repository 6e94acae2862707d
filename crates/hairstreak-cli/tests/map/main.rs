//! `hairstreak map` and `hairstreak map-worker`, driven as people drive them.

mod bounds;
mod each;
mod endings;
mod filters;
mod harness;
mod misfits;
mod records;
mod workers;
