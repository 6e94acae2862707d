//! `rabbitmqadmin.py`: Debian's rabbitmqadmin says the same of two nodes.

use crate::program::run;
use crate::setup::rabbitmq;
use crate::target::{Target, management_program};

#[test]
fn rabbitmq_answers_rabbitmqadmin_the_same_twice() {
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    compare(Target::of_rabbitmq(&rabbitmq), Target::of_rabbitmq(&rabbitmq));
}

fn compare(first: Target, second: Target) {
    println!(
        "{}",
        run(management_program("rabbitmqadmin.py").args([first, second].map(|node| node.to_string())))
    );
}
