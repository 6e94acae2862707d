//! `strangers.py`: users from another machine.

use crate::network::{Network, from_within, within};
use crate::our_node::OurNode;
use crate::program::run;
use crate::rabbitmq::{RabbitMq, Setup};
use crate::target::{Target, management_program};

/// A RabbitMQ that listens at all addresses.
const OPEN: Setup = Setup {
    ports: &[],
    plugins: "[rabbitmq_management,rabbitmq_prometheus].",
    configuration: "\
log.console = false
disk_free_limit.absolute = 1MB
load_definitions = FOLDER/definitions.json
",
    definitions: DEFINITIONS,
};

/// An administrator beside guest.
const DEFINITIONS: &str = r#"{
  "users": [
    { "name": "guest", "password": "guest", "tags": ["administrator"] },
    { "name": "operator", "password": "operator", "tags": ["administrator"] }
  ],
  "vhosts": [{ "name": "/" }],
  "permissions": [
    { "user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "operator", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" }
  ]
}"#;

#[test]
fn rabbitmq_lets_guests_in_from_its_own_machine_only() {
    let network = Network::new("strangers");
    let _node = RabbitMq::start(&OPEN, &within(&network.near()));
    check(&network, &["--without", "4.0"]);
}

#[test]
fn our_node_lets_guests_in_from_its_own_machine_only() {
    let network = Network::new("strangers");
    let _node = OurNode::start(&network.near(), &["RABBITMQ_NODE_IP_ADDRESS=0.0.0.0"], DEFINITIONS);
    check(&network, &[]);
}

/// Runs the checks of strangers on the other machine, and on the node's own the checks of health, with these words, as a guest.
fn check(network: &Network, words: &[&str]) {
    let [strangers, guests] =
        [Network::NEAR, "127.0.0.1"].map(|address| Target::at_default_ports(address).to_string());
    let mut suite = management_program("suite.py");
    println!("{}", run(&mut from_within(&network.far(), suite.args([&strangers, "strangers"]))));
    // The address counts: a guest can log in from the node's own machine.
    let mut suite = management_program("suite.py");
    println!("{}", run(&mut from_within(&network.near(), suite.args([&guests, "health"]).args(words))));
}
