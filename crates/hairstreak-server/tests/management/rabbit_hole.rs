//! rabbit-hole, the Go client of the management HTTP API. Everybody runs the requests that it sends; the soak runs our program with it, and its
//! own tests, which take a toolchain of Go (`scripts/go`).

use std::process::Command;

use crate::network::{Network, from_within, within};
use crate::program::{checkout, run};
use crate::rabbitmq::RabbitMq;
use crate::setup::{DEFAULT_PORTS, rabbitmq};
use crate::soak::amount;
use crate::suites;
use crate::target::Target;

/// Needs of `interop/rabbit-hole` that RabbitMQ 3.10.8 does not meet.
const RABBITMQ_WITHOUT: &[&str] =
    &["protected virtual hosts", "deprecated features", "negative delivery limits"];

/// Those of rabbit-hole's own tests that RabbitMQ 3.10.8 fails: it has no default queue type, no queue type of a federation upstream, and
/// no deprecated features.
const RABBITMQ_FAILS: &str = "default queue type|(creates|updates) the upstream|deprecated feature flags";

#[test]
fn rabbitmq_serves_rabbit_hole() {
    let rabbitmq = rabbitmq();
    // RabbitMQ lists the limits that others cleared as an empty array, at which rabbit-hole fails.
    let _nobody = rabbitmq.alone();
    let target = Target::of_rabbitmq(&rabbitmq);
    suites::check(target, "tools", suites::RABBITMQ_WITHOUT, &["--only", "rabbit_hole"]);
    if amount(0, 1) == 1 {
        serves_rabbit_hole(target, RABBITMQ_WITHOUT);
        let network = Network::new("rabbit-hole");
        let _node = RabbitMq::start(&DEFAULT_PORTS, &within(&network.near()));
        passes_its_tests(&network.near(), RABBITMQ_FAILS);
    }
}

fn serves_rabbit_hole(target: Target, without: &[&str]) {
    let mut program = Command::new(checkout().join("scripts/rabbit-hole"));
    program.args([format!("http://{}", target.http), format!("amqp://{}", target.amqp)]).args(without);
    println!("{}", run(&mut program));
}

/// The tests ask for the node at its default ports, which it has in a network namespace of its own.
fn passes_its_tests(namespace: &str, skipped: &str) {
    run(&mut Command::new(checkout().join("scripts/rabbit-hole")));
    let mut tests = Command::new(checkout().join("target/rabbit-hole/suite"));
    // Some ask for statistics before these can have come, and pass at the second try.
    tests.args(["-ginkgo.no-color", "-ginkgo.flake-attempts=3", "-ginkgo.skip", skipped]);
    let mut tests = from_within(namespace, &tests);
    println!("{}", run(tests.env("GOMEGA_DEFAULT_EVENTUALLY_TIMEOUT", "5s")));
}
