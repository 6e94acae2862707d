//! lapin, the Rust client, against RabbitMQ: the program that `scripts/test` runs against our node.

use std::process::Command;

use crate::program::{checkout, run};
use crate::setup::rabbitmq;

#[test]
fn rabbitmq_serves_lapin() {
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    let mut lapin = Command::new(checkout().join("scripts/lapin"));
    let said = run(lapin.arg(format!("amqp://{}/%2f", rabbitmq.address("AMQP_PORT"))));
    assert!(said.contains("100 messages confirmed"), "{said}");
}
