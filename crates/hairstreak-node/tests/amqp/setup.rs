//! The RabbitMQ that these tests share: AMQP alone, with the users and virtual hosts of `checks.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use crate::rabbitmq::{RabbitMq, Setup, shared};

/// The RabbitMQ of the tests that run now.
pub fn rabbitmq() -> Arc<RabbitMq> {
    shared(&SETUP)
}

/// A file with the same users and virtual hosts for our node.
pub fn definitions() -> PathBuf {
    static WRITTEN: Once = Once::new();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("amqp-definitions.json");
    WRITTEN.call_once(|| fs::write(&path, DEFINITIONS).unwrap());
    path
}

pub const SETUP: Setup = Setup {
    ports: &["AMQP_PORT", "TLS_PORT"],
    plugins: "[rabbitmq_consistent_hash_exchange, rabbitmq_auth_mechanism_ssl].",
    configuration: CONFIGURATION,
    definitions: DEFINITIONS,
};

/// The configuration that checks.py needs, without an alarm by accident on a small disk.
const CONFIGURATION: &str = "\
listeners.tcp.1 = 127.0.0.1:AMQP_PORT
listeners.ssl.1 = 127.0.0.1:TLS_PORT
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = false
ssl_options.cacertfile = CERTIFICATES/ca.pem
ssl_options.certfile = CERTIFICATES/server.pem
ssl_options.keyfile = CERTIFICATES/server.key
ssl_cert_login_from = common_name
auth_mechanisms.1 = PLAIN
auth_mechanisms.2 = AMQPLAIN
auth_mechanisms.3 = EXTERNAL
log.console = false
max_message_size = 16777216
disk_free_limit.absolute = 1MB
load_definitions = FOLDER/definitions.json
";

const DEFINITIONS: &str = r#"{
  "users": [
    { "name": "guest", "password": "guest", "tags": ["administrator"] },
    { "name": "limited", "password": "limited", "tags": [] },
    { "name": "tester", "password_hash": "", "tags": [] }
  ],
  "vhosts": [{ "name": "/" }, { "name": "checks" }, { "name": "other" }, { "name": "closed" },
    { "name": "one" }, { "name": "two" }, { "name": "three" }],
  "permissions": [
    { "user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "tester", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "guest", "vhost": "checks", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "guest", "vhost": "one", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "guest", "vhost": "two", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "guest", "vhost": "three", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "guest", "vhost": "other", "configure": ".*", "write": ".*", "read": ".*" },
    { "user": "limited", "vhost": "checks", "configure": "^mine", "write": "^mine", "read": "^mine" }
  ]
}"#;
