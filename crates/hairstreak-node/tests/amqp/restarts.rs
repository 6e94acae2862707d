//! `restarts.py`: RabbitMQ and our node are restarted in order in the middle, and have the same messages.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use hairstreak_testkit::until;

use crate::node::OurNode;
use crate::program::python;
use crate::rabbitmq::RabbitMq;
use crate::setup::SETUP;

#[test]
fn queues_are_the_same_as_in_rabbitmq_after_a_restart_in_order() {
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("restarts-{}", std::process::id()));
    let mut rabbitmq = RabbitMq::start(&SETUP, &[]);
    let node = OurNode::start_at(&data);
    let addresses = [rabbitmq.address("AMQP_PORT"), node.address].map(|address| address.to_string());
    let mut script = python("restarts.py");
    script.args(addresses).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut script = Script(script.spawn().unwrap());
    let mut output = BufReader::new(script.0.stdout.take().unwrap());
    let mut said = String::new();
    output.read_line(&mut said).unwrap();
    assert_eq!(said, "restart\n");
    drop(node);
    rabbitmq.stop();
    rabbitmq.start_again();
    // A further restart without clients changes nothing.
    drop(OurNode::start_at(&data));
    let node = OurNode::start_at(&data);
    writeln!(script.0.stdin.take().unwrap(), "{}", node.address).unwrap();
    said.clear();
    output.read_to_string(&mut said).unwrap();
    println!("{said}");
    assert!(until("the script has ended", || script.0.try_wait().unwrap()).success(), "{said}");
    drop(node);
    fs::remove_dir_all(data).unwrap();
}

/// A script, which ends with the test.
struct Script(Child);

impl Drop for Script {
    fn drop(&mut self) {
        // The script may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
