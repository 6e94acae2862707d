//! The RabbitMQ that these tests share: AMQP alone, with the users and virtual hosts of `checks.py`.

use std::sync::Arc;

use crate::rabbitmq::{RabbitMq, Setup, shared};

/// The RabbitMQ of the tests that run now.
pub fn rabbitmq() -> Arc<RabbitMq> {
    shared(&SETUP)
}

const SETUP: Setup = Setup {
    ports: &["AMQP"],
    plugins: "[rabbitmq_consistent_hash_exchange].",
    configuration: CONFIGURATION,
    definitions: DEFINITIONS,
};

/// The configuration that checks.py needs, without an alarm by accident on a small disk.
const CONFIGURATION: &str = "\
listeners.tcp.1 = 127.0.0.1:AMQP
log.console = false
max_message_size = 16777216
disk_free_limit.absolute = 1MB
load_definitions = FOLDER/definitions.json
";

const DEFINITIONS: &str = r#"{
  "users": [
    { "name": "guest", "password": "guest", "tags": ["administrator"] },
    { "name": "limited", "password": "limited", "tags": [] }
  ],
  "vhosts": [{ "name": "/" }, { "name": "checks" }, { "name": "other" }, { "name": "closed" },
    { "name": "one" }, { "name": "two" }, { "name": "three" }],
  "permissions": [
    { "user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "guest", "vhost": "checks", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "guest", "vhost": "one", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "guest", "vhost": "two", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "guest", "vhost": "three", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "guest", "vhost": "other", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "limited", "vhost": "checks", "configure": "^mine", "write": "^mine", "read": "^mine" }
  ]
}"#;
