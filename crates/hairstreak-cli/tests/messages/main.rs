//! Messages that outlive the node: the node is killed and stopped while clients publish and consume. Confirmed messages stay.

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

mod client;
mod disks;
mod durability;
mod kills;
mod node;
mod paging;
mod stops;
