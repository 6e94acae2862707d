//! The RabbitMQ that these tests share: AMQP, the management HTTP API and metrics, with statistics that come soon.

use std::sync::Arc;

use crate::rabbitmq::{RabbitMq, Setup, shared};

/// The RabbitMQ of the tests that run now.
pub fn rabbitmq() -> Arc<RabbitMq> {
    shared(&SETUP)
}

const SETUP: Setup = Setup {
    ports: &["AMQP", "HTTP", "METRICS"],
    plugins: "[rabbitmq_management,rabbitmq_prometheus,rabbitmq_consistent_hash_exchange].",
    configuration: CONFIGURATION,
    definitions: DEFINITIONS,
};

/// A RabbitMQ that listens at all addresses of its network namespace, with an administrator beside guest.
pub const OPEN: Setup = Setup {
    configuration: "\
listeners.tcp.1 = 0.0.0.0:AMQP
management.tcp.ip = 0.0.0.0
management.tcp.port = HTTP
prometheus.tcp.ip = 0.0.0.0
prometheus.tcp.port = METRICS
log.console = false
disk_free_limit.absolute = 1MB
load_definitions = FOLDER/definitions.json
",
    definitions: r#"{
  "users": [
    { "name": "guest", "password": "guest", "tags": ["administrator"] },
    { "name": "operator", "password": "operator", "tags": ["administrator"] }
  ],
  "vhosts": [{ "name": "/" }],
  "permissions": [
    { "user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "operator", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" }
  ]
}"#,
    ..SETUP
};

/// A RabbitMQ at its default ports, and with what the tests of rabbit-hole ask for beyond. It has a network namespace of its own.
pub const DEFAULT_PORTS: Setup = Setup {
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
    definitions: r#"{
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
}"#,
};

/// A RabbitMQ about which the environment says everything. It has a network namespace of its own.
pub const BARE: Setup = Setup {
    ports: &[],
    plugins: "[rabbitmq_management,rabbitmq_prometheus].",
    configuration: "log.console = false\ndisk_free_limit.absolute = 1MB\n",
    definitions: "",
};

/// Statistics are taken five times a second and kept for each second, where the defaults are five seconds for both.
const CONFIGURATION: &str = "\
listeners.tcp.1 = 127.0.0.1:AMQP
management.tcp.ip = 127.0.0.1
management.tcp.port = HTTP
prometheus.tcp.ip = 127.0.0.1
prometheus.tcp.port = METRICS
log.console = false
disk_free_limit.absolute = 1MB
collect_statistics_interval = 200
management.sample_retention_policies.global.minute = 1
management.sample_retention_policies.basic.minute = 1
management.sample_retention_policies.detailed.minute = 1
load_definitions = FOLDER/definitions.json
";

const DEFINITIONS: &str = r#"{
  "users": [{ "name": "guest", "password": "guest", "tags": ["administrator"] }],
  "vhosts": [{ "name": "/" }],
  "permissions": [{ "user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" }]
}"#;
