//! `differential.py`: RabbitMQ against itself, which shows that the comparison is fair, and against our node.

use std::net::SocketAddr;

use crate::node::our_node;
use crate::program::{python, run};
use crate::rabbitmq::rabbitmq;
use crate::soak::amount;

#[test]
fn rabbitmq_differs_in_nothing_from_itself() {
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    compare((rabbitmq.address, "one"), (rabbitmq.address, "two"), amount(400, 20_000));
}

#[test]
fn our_node_differs_from_rabbitmq_in_nothing_that_has_no_reason() {
    let node = our_node();
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    compare((rabbitmq.address, "three"), (node.address, "checks"), amount(800, 20_000));
}

/// Virtual hosts have names of their own here: everybody shares exchanges such as `amq.topic`. Compares two brokers, or two virtual hosts of one, in this many operations.
fn compare(first: (SocketAddr, &str), second: (SocketAddr, &str), operation_count: usize) {
    let mut differential = python("differential.py");
    differential.args([first, second].map(|(address, virtual_host)| format!("{address}/{virtual_host}")));
    differential.args(["--operations", &operation_count.to_string()]);
    println!("{}", run(&mut differential));
}
