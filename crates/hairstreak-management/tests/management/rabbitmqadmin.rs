//! The two programs of the name rabbitmqadmin. Debian's, of RabbitMQ 3, says the same of two nodes (`rabbitmqadmin.py`). The one of RabbitMQ 4
//! (`rabbitmqadmin_v2.py`) takes minutes to build, which only the soak has.

use std::process::Command;

use crate::our_node::our_node;
use crate::program::{checkout, run};
use crate::setup::rabbitmq;
use crate::soak::amount;
use crate::suites;
use crate::target::{Target, management_program};

#[test]
fn both_rabbitmqadmins_take_our_node_for_rabbitmq() {
    let (node, rabbitmq) = (our_node(), rabbitmq());
    // RabbitMQ fails to export definitions while others delete virtual hosts.
    let _nobody = rabbitmq.alone();
    let target = Target::of_rabbitmq(&rabbitmq);
    compare(target, node.target);
    if amount(0, 1) == 1 {
        answers_the_second(target, suites::RABBITMQ_WITHOUT);
        answers_the_second(node.target, suites::OUR_NODE_WITHOUT);
    }
}

/// The first is RabbitMQ.
fn compare(first: Target, second: Target) {
    let mut comparison = management_program("rabbitmqadmin.py");
    println!("{}", run(comparison.args([first, second].map(|node| node.to_string()))));
}

fn answers_the_second(target: Target, without: &[&str]) {
    run(&mut Command::new(checkout().join("scripts/rabbitmqadmin")));
    suites::check(target, "rabbitmqadmin_v2", without, &[]);
}
