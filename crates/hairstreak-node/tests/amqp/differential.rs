//! `differential.py`: RabbitMQ against itself, which shows that the comparison is fair, and against our node.

use std::net::SocketAddr;

use crate::node::our_node;
use crate::program::{python, run};
use crate::setup::rabbitmq;
use crate::soak::amount;

/// The first seed of the short form. Its first round has found a difference once: messages that die twice.
const SHORT_SEED: &str = "1090629624";

#[test]
fn rabbitmq_differs_in_nothing_from_itself() {
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    compare((rabbitmq.address("AMQP_PORT"), "one"), (rabbitmq.address("AMQP_PORT"), "two"), 400);
}

#[test]
fn our_node_differs_from_rabbitmq_in_nothing_that_has_no_reason() {
    let node = our_node();
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    compare((rabbitmq.address("AMQP_PORT"), "three"), (node.address, "checks"), 800);
}

/// Compares two brokers, or two virtual hosts of one. The short form repeats `operation_count` operations of one seed, and the soak draws 20,000 new operations.
/// Each virtual host here has a name of its own: all clients of a host share exchanges such as `amq.topic`.
fn compare(first: (SocketAddr, &str), second: (SocketAddr, &str), operation_count: usize) {
    let mut differential = python("differential.py");
    differential.args([first, second].map(|(address, virtual_host)| format!("{address}/{virtual_host}")));
    differential.args(["--operations", &amount(operation_count, 20_000).to_string()]);
    if amount(1, 0) == 1 {
        differential.args(["--seed", SHORT_SEED]);
    }
    println!("{}", run(&mut differential));
}
