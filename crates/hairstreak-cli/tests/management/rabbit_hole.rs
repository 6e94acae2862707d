//! rabbit-hole, the Go client of the management HTTP API: its own tests, which ask for a node at its default ports. They take a toolchain of Go
//! (`scripts/go`), which only the soak has; everybody else has our node answer the requests that rabbit-hole sends.

use std::process::Command;

use crate::network::{Network, from_within, within};
use crate::our_node::OurNode;
use crate::program::{checkout, run};
use crate::rabbitmq::{RabbitMq, Setup};
use crate::soak::amount;
use crate::target::{Target, management_program};

/// A RabbitMQ with all that the tests ask for.
const FULL: Setup = Setup {
    ports: &[],
    plugins: "[rabbitmq_management,rabbitmq_shovel_management,rabbitmq_federation_management].",
    configuration: "\
listeners.tcp.1 = 127.0.0.1:5672
management.tcp.ip = 127.0.0.1
log.console = false
disk_free_limit.absolute = 1MB
cluster_name = rabbitmq@localhost
collect_statistics_interval = 200
management.sample_retention_policies.global.minute = 1
management.sample_retention_policies.basic.minute = 1
management.sample_retention_policies.detailed.minute = 1
load_definitions = FOLDER/definitions.json
",
    definitions: DEFINITIONS,
};

const DEFINITIONS: &str = r#"{
  "users": [
    { "name": "guest", "password": "guest", "tags": ["administrator"] },
    { "name": "policymaker", "password": "policymaker", "tags": ["policymaker"] }
  ],
  "vhosts": [{ "name": "/" }, { "name": "rabbit/hole" }],
  "permissions": [
    { "user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "guest", "vhost": "rabbit/hole", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "policymaker", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" }
  ]
}"#;

/// The tests that RabbitMQ 3.10.8 fails: it has no default queue type, no queue type of a federation upstream, and no deprecated features.
const RABBITMQ_FAILS: &str = "default queue type|(creates|updates) the upstream|deprecated feature flags";

/// The tests that our node fails: it has no links of a federation, no shovels, and no deprecated features.
const OUR_NODE_FAILS: &str = "when there are links|status of Shovels|deprecated feature flags";

#[test]
fn nodes_at_their_default_ports_serve_rabbit_hole() {
    let network = Network::new("rabbit-hole");
    let near = network.near();
    {
        let _node = OurNode::start(&near, &[], DEFINITIONS);
        let target = Target::at_default_ports("127.0.0.1").to_string();
        let mut suite = management_program("suite.py");
        println!("{}", run(&mut from_within(&near, suite.args([&target, "tools", "--only", "rabbit_hole"]))));
        if amount(0, 1) == 1 {
            passes_its_tests(&near, OUR_NODE_FAILS);
        }
    }
    if amount(0, 1) == 1 {
        let _node = RabbitMq::start(&FULL, &within(&near));
        passes_its_tests(&near, RABBITMQ_FAILS);
    }
}

fn passes_its_tests(namespace: &str, skipped: &str) {
    run(&mut Command::new(checkout().join("scripts/rabbit-hole")));
    let mut tests = Command::new(checkout().join("target/rabbit-hole/suite"));
    // Some tests read statistics before the first are there, and pass at the second try.
    tests.args(["-ginkgo.no-color", "-ginkgo.flake-attempts=3", "-ginkgo.skip", skipped]);
    let mut tests = from_within(namespace, &tests);
    println!("{}", run(tests.env("GOMEGA_DEFAULT_EVENTUALLY_TIMEOUT", "5s")));
}
