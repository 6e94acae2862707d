//! `checks.py` against RabbitMQ, and against our node.

use crate::node::{self, OurNode, our_node, our_node_at_a_fabric, our_small_node};
use crate::program::{python, run};
use crate::setup::rabbitmq;
use crate::soak::amount;

#[test]
fn rabbitmq_passes_the_checks() {
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    let mut checks = python("checks.py");
    println!("{}", run(checks.arg(rabbitmq.address("AMQP_PORT").to_string())));
}

#[test]
fn rabbitmq_passes_the_checks_while_it_is_short_of_memory() {
    let rabbitmq = rabbitmq();
    let _nobody = rabbitmq.alone();
    let mut checks = python("checks.py");
    checks
        .arg(rabbitmq.address("AMQP_PORT").to_string())
        .args(["--only", "alarm_", "--alarm"])
        .arg(rabbitmq.alarm());
    println!("{}", run(&mut checks));
}

#[test]
fn our_node_passes_the_checks() {
    check(&our_node(), &[]);
}

#[test]
fn our_node_passes_the_checks_through_a_fabric() {
    let node = our_node_at_a_fabric("checks");
    // A few of them wait for half a second at most, or publish megabytes, which is much for a simulation beside all other tests.
    let some = ["blocking_", "hostile_", "publish_b", "publish_e", "publish_t", "confirm"];
    // Every name contains "".
    let groups = if amount(0, 1) == 0 { &some[..] } else { &[""] };
    groups.iter().for_each(|group| check(&node, &["--only", group]));
}

fn check(node: &OurNode, words: &[&str]) {
    let mut checks = python("checks.py");
    checks.arg(node.address.to_string()).args(words);
    checks.args(node::WITHOUT.iter().flat_map(|need| ["--without", need]));
    println!("{}", run(&mut checks));
}

#[test]
fn publishers_wait_while_messages_have_too_much_memory_and_consumers_go_on() {
    let node = our_small_node();
    println!("{}", run(python("watermark.py").arg(node.address.to_string())));
}
