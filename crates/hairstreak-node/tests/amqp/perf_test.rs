//! PerfTest, RabbitMQ's load generator in Java: its short runs against both brokers.

use std::net::SocketAddr;
use std::process::Command;

use crate::node::{our_node, our_node_at_a_fabric};
use crate::program::{checkout, run};
use crate::setup::rabbitmq;
use crate::soak::amount;

/// The options of each run. Each producer sends so many messages as [`message_count`] says, and the run ends when the consumers have them.
const RUNS: &[&[&str]] = &[
    &["--autoack"],
    &["--confirm", "100", "--qos", "50", "--multi-ack-every", "10"],
    &[
        "--type",
        "topic",
        "--size",
        "1024",
        "--global-qos",
        "100",
        "--flag",
        "mandatory",
        "--flag",
        "persistent",
    ],
    &[
        "--producers",
        "2",
        "--consumers",
        "2",
        "--producer-channel-count",
        "2",
        "--consumer-channel-count",
        "2",
        "--nack",
    ],
    // Without a prefetch count the Java client comes to a standstill, with RabbitMQ as with our node: its thread that reads waits for the
    // consumer, and the consumer waits for tx.commit-ok.
    &["--ptxsize", "10", "--ctxsize", "10", "--qos", "100", "--queue-args", "x-max-priority=5"],
    &["--quorum-queue", "--queue", "perf-test", "--confirm", "50", "--auto-delete", "false"],
];

/// The messages of a producer and of a consumer. The soak sends and receives more.
fn message_count() -> String {
    amount(500, 20_000).to_string()
}

#[test]
fn rabbitmq_serves_perf_test() {
    let rabbitmq = rabbitmq();
    let _others = rabbitmq.together();
    serves_perf_test(rabbitmq.address("AMQP_PORT"));
}

#[test]
fn our_node_serves_perf_test() {
    let node = our_node();
    serves_perf_test(node.address);
}

#[test]
fn our_node_serves_perf_test_through_a_fabric() {
    let node = our_node_at_a_fabric("perf-test");
    serves_perf_test(node.address);
}

fn serves_perf_test(address: SocketAddr) {
    let jars = checkout().join(".perf-test");
    assert!(jars.exists(), "{} is missing; scripts/test-setup fetches it", jars.display());
    let message_count = message_count();
    for options in RUNS {
        let mut java = Command::new("java");
        // It lives for a second: it should start soon and share the machine.
        java.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-classpath"]);
        java.arg(jars.join("*")).arg("com.rabbitmq.perf.PerfTest");
        java.args([
            "--uri",
            &format!("amqp://{address}/checks"),
            "--pmessages",
            &message_count,
            "--cmessages",
            &message_count,
        ]);
        let said = run(java.args(*options));
        assert!(said.contains("reached message limit"), "{options:?}:\n{said}");
    }
}
