//! rabbit-hole, the Go client of the management HTTP API. Everybody runs the requests that it sends; the soak runs our program with it, which
//! takes a toolchain of Go (`scripts/go`).

use std::process::Command;

use crate::our_node::our_node;
use crate::program::{checkout, run};
use crate::setup::rabbitmq;
use crate::soak::amount;
use crate::suites;
use crate::target::Target;

/// Needs of `interop/rabbit-hole` that RabbitMQ 3.10.8 does not meet.
const RABBITMQ_WITHOUT: &[&str] =
    &["protected virtual hosts", "deprecated features", "negative delivery limits"];

#[test]
fn rabbitmq_serves_rabbit_hole() {
    let rabbitmq = rabbitmq();
    // RabbitMQ lists the limits that others cleared as an empty array, at which rabbit-hole fails.
    let _nobody = rabbitmq.alone();
    let target = Target::of_rabbitmq(&rabbitmq);
    suites::check(target, "tools", suites::RABBITMQ_WITHOUT, &["--only", "rabbit_hole"]);
    if amount(0, 1) == 1 {
        serves_rabbit_hole(target, RABBITMQ_WITHOUT);
    }
}

#[test]
fn our_node_serves_rabbit_hole() {
    let node = our_node();
    suites::check(node.target, "tools", suites::OUR_NODE_WITHOUT, &["--only", "rabbit_hole"]);
    if amount(0, 1) == 1 {
        serves_rabbit_hole(node.target, &[]);
    }
}

fn serves_rabbit_hole(target: Target, without: &[&str]) {
    let mut program = Command::new(checkout().join("scripts/rabbit-hole"));
    program.args([format!("http://{}", target.http), format!("amqp://{}", target.amqp)]).args(without);
    println!("{}", run(&mut program));
}
