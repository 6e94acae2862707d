//! Definitions that outlive the node: the node is killed, stopped, started wrongly and run on full and read-only disks. Answered changes
//! stay.

#[path = "../workbench/daemon.rs"]
#[expect(dead_code, reason = "the place of a daemon in the system matters to others")]
mod daemon;
#[path = "../workbench/process.rs"]
#[expect(dead_code, reason = "how a command ends matters to others")]
mod process;
#[path = "../workbench/small_disk.rs"]
mod small_disk;
#[path = "../../../hairstreak-socket/tests/workbench/soak.rs"]
mod soak;

mod api;
mod client;
mod disks;
mod driver;
mod hosts;
mod kills;
mod model;
mod node;
mod observing;
mod operators;
mod others;
mod starts;
