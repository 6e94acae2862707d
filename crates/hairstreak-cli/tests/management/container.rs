//! `container.py`: a node configured only by its environment, as test suites start images of RabbitMQ.

use crate::network::{Network, from_within, within};
use crate::our_node::OurNode;
use crate::program::run;
use crate::rabbitmq::{RabbitMq, Setup};
use crate::target::{Target, management_program};

/// A RabbitMQ that is configured only by its environment.
const BARE: Setup = Setup {
    ports: &[],
    plugins: "[rabbitmq_management,rabbitmq_prometheus].",
    configuration: "log.console = false\ndisk_free_limit.absolute = 1MB\n",
    definitions: "",
};

/// The variables that Testcontainers sets, and the variable that opens the node to other hosts.
const ENVIRONMENT: &[&str] = &[
    "RABBITMQ_DEFAULT_USER=shop",
    "RABBITMQ_DEFAULT_PASS=secret",
    "RABBITMQ_DEFAULT_VHOST=orders",
    "RABBITMQ_NODE_IP_ADDRESS=0.0.0.0",
];

#[test]
fn rabbitmq_starts_by_environment_alone() {
    let network = Network::new("container");
    let near = network.near();
    let _node = RabbitMq::start(&BARE, &[&within(&near), &["env"][..], ENVIRONMENT].concat());
    check(&network, &[]);
}

#[test]
fn our_node_starts_by_environment_alone() {
    let network = Network::new("container");
    let _node = OurNode::start(&network.near(), ENVIRONMENT, "");
    // Other machines see metrics with credentials, unless the configuration says otherwise.
    check(&network, &["--without", "metrics without credentials"]);
}

/// Runs the checks on the other machine.
fn check(network: &Network, words: &[&str]) {
    let target = Target::at_default_ports(Network::NEAR);
    let mut suite = management_program("suite.py");
    suite.args([&target.to_string(), "container", "--jobs", "1"]).args(words);
    println!("{}", run(&mut from_within(&network.far(), &suite)));
}
