//! The built `hairstreak` on the command line.

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
