//! The two programs of the name rabbitmqadmin. Debian's, of RabbitMQ 3, says the same of two nodes (`rabbitmqadmin.py`). The one of RabbitMQ 4
//! (`rabbitmqadmin_v2.py`) takes minutes to build, which only the soak has.

use std::process::Command;

use crate::program::{checkout, run};
use crate::setup::rabbitmq;
use crate::soak::amount;
use crate::suites;
use crate::target::{Target, management_program};

#[test]
fn rabbitmq_answers_both_rabbitmqadmins() {
    let rabbitmq = rabbitmq();
    // RabbitMQ fails to export definitions while others delete virtual hosts.
    let _nobody = rabbitmq.alone();
    let target = Target::of_rabbitmq(&rabbitmq);
    compare(target, target);
    if amount(0, 1) == 1 {
        answers_the_second(target, suites::RABBITMQ_WITHOUT);
    }
}

fn compare(first: Target, second: Target) {
    let mut comparison = management_program("rabbitmqadmin.py");
    println!("{}", run(comparison.args([first, second].map(|node| node.to_string()))));
}

fn answers_the_second(target: Target, without: &[&str]) {
    run(&mut Command::new(checkout().join("scripts/rabbitmqadmin")));
    suites::check(target, "rabbitmqadmin_v2", without, &[]);
}
