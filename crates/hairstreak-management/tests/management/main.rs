//! The node as operators and their tools see it: the management HTTP API, users and permissions, policies, and metrics. The same programs run
//! against Debian's RabbitMQ, which is started here, and against our node.

#[path = "../../../hairstreak-node/tests/amqp/program.rs"]
mod program;
#[path = "../../../hairstreak-node/tests/amqp/rabbitmq.rs"]
#[allow(dead_code, reason = "the server's tests restart a node")]
mod rabbitmq;
#[path = "../../../hairstreak-socket/tests/workbench/soak.rs"]
mod soak;

mod our_node;
mod setup;
mod target;

mod https;
mod rabbit_hole;
mod rabbitmqadmin;
mod suites;
