//! AMQP 0-9-1 as others speak it. The same programs run against RabbitMQ, started here for the tests, and against our node,
//! so that what is expected of ours is what RabbitMQ does: `checks.py` (small checks, by pika and by raw frames),
//! `differential.py` (random operations on two brokers in lock step), and RabbitMQ's own load generator.

#[path = "../../../hairstreak-socket/tests/workbench/soak.rs"]
mod soak;

mod checks;
mod differential;
mod node;
mod perf_test;
mod program;
mod rabbitmq;
