//! `bad_input.py`: a table of bad input, which RabbitMQ and our node answer alike, in one piece and cut into many. A row whose answers differ has
//! our answer in the table, and its reason in docs/amqp.md.

use crate::node::our_node;
use crate::program::{python, run};
use crate::setup::rabbitmq;

/// Rounds of RabbitMQ's side that may fail, because a busy RabbitMQ answers too late.
const ROUNDS: &str = "3";

/// Whatever a row says, RabbitMQ says it each time and however its bytes are cut: so the table compares what is comparable.
#[test]
fn rabbitmq_answers_bad_input_the_same_however_it_is_cut() {
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    let address = rabbitmq.address("AMQP_PORT").to_string();
    println!("{}", run(python("bad_input.py").args([&address, &address]).args(["--rounds", ROUNDS])));
}

/// Each row in one piece, frame by frame, before each frame's end, behind each frame's header, and octet by octet.
#[test]
fn our_node_answers_bad_input_as_rabbitmq_does() {
    let node = our_node();
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    let addresses = [rabbitmq.address("AMQP_PORT").to_string(), node.address.to_string()];
    println!("{}", run(python("bad_input.py").args(&addresses).args(["--rounds", ROUNDS])));
}
