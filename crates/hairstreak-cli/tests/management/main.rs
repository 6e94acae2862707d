//! Nodes on a machine of their own, which is a network namespace here: Debian's RabbitMQ and `hairstreak serve`. The programs of the server's
//! tests try them from the same machine or from another.

#[path = "../workbench/network.rs"]
mod network;
#[path = "../workbench/process.rs"]
#[allow(dead_code, reason = "how a command ends matters to others")]
mod process;
#[path = "../../../hairstreak-node/tests/amqp/program.rs"]
mod program;
#[path = "../../../hairstreak-node/tests/amqp/rabbitmq.rs"]
#[allow(dead_code, reason = "the server's tests share one")]
mod rabbitmq;
#[path = "../../../hairstreak-socket/tests/workbench/soak.rs"]
mod soak;
#[path = "../../../hairstreak-management/tests/management/target.rs"]
mod target;

mod our_node;
mod ports;

mod container;
mod rabbit_hole;
mod strangers;
