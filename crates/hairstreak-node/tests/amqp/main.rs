//! AMQP 0-9-1 as others speak it. The same programs run against our node and against RabbitMQ, which is started here, so that we expect of our
//! node what RabbitMQ does: `checks.py` (small checks, by pika and by raw frames), `bad_input.py` (a table of bad input), `differential.py` (random operations on two brokers in
//! lock step), `restarts.py` (two brokers that are restarted), `tls.py` (who gets in by TLS), RabbitMQ's own load generator, and lapin (`scripts/test` runs lapin against our node).

#[path = "../../../hairstreak-socket/tests/workbench/soak.rs"]
mod soak;

mod bad_input;
mod checks;
mod differential;
mod lapin;
mod node;
mod perf_test;
mod program;
mod rabbitmq;
mod restarts;
mod setup;
mod tls;
