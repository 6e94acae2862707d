//! The AMQP commands as processes, against a node of their own or, with HAIRSTREAK_TEST_AMQP=HOST:PORT in the environment,
//! against another broker such as RabbitMQ.

#[path = "../workbench/daemon.rs"]
#[expect(dead_code, reason = "what a daemon says on standard error, and how it ends, matters to others")]
mod daemon;
mod harness;
#[path = "../workbench/process.rs"]
mod process;

mod connecting;
mod consuming;
mod document;
mod publishing;
mod secured;
mod topology;
