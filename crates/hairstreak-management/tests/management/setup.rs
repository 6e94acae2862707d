//! The RabbitMQ that these tests share: AMQP, the management HTTP API and metrics, with statistics that come soon.

use std::sync::Arc;

use crate::rabbitmq::{RabbitMq, Setup, shared};
use crate::target::Target;

/// The RabbitMQ of the tests that run now.
pub fn rabbitmq() -> Arc<RabbitMq> {
    shared(&SETUP)
}

impl Target {
    pub fn of_rabbitmq(rabbitmq: &RabbitMq) -> Target {
        let [amqp, http, metrics] = ["AMQP", "HTTP", "METRICS"].map(|port| rabbitmq.address(port));
        Target { amqp, http, metrics }
    }
}

const SETUP: Setup = Setup {
    ports: &["AMQP", "HTTP", "METRICS"],
    plugins: "[rabbitmq_management,rabbitmq_prometheus,rabbitmq_consistent_hash_exchange].",
    configuration: CONFIGURATION,
    definitions: DEFINITIONS,
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
