//! The built `hairstreak`, driven as people drive it.

mod blocked;
mod butterfly;
mod ends;
mod failures;
mod harness;
mod kills;
mod malformed;
mod own_input;
mod plan;
mod processes;
mod run;
mod shortage;
mod simulate;
mod stages;
mod unreachable;
mod unwritable;
