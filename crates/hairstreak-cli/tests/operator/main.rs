//! Operators' commands as processes, against a broker with a management API: RabbitMQ with its plugin.

#[path = "../workbench/process.rs"]
mod process;
#[path = "../../../hairstreak-node/tests/amqp/rabbitmq.rs"]
#[allow(dead_code, reason = "the server's tests share a node in another way, and disturb each other")]
mod rabbitmq;

mod broker;
mod setup;

mod connecting;
mod connections;
mod definitions;
mod document;

mod lists;
mod peeking;
mod permissions;
mod policies;
mod queues;
mod strangers;
mod terminal;
mod users;
mod vhosts;
