//! Operators' commands as processes, against a broker with a management API: RabbitMQ with its plugin.

#[path = "../workbench/process.rs"]
mod process;

mod broker;
mod rabbitmq;

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
