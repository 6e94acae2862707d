//! The RabbitMQ of these tests, with its management plugin. The tests of this process share this RabbitMQ. The RabbitMQ ends with the
//! process.

use std::sync::{OnceLock, RwLock};

use crate::broker::Broker;
use crate::rabbitmq::{RabbitMq, Setup};

const SETUP: Setup = Setup {
    ports: &["AMQP", "HTTP", "TLS"],
    plugins: "[rabbitmq_management].",
    configuration: CONFIGURATION,
    definitions: "",
};

/// Counters are current within a tenth of a second. The disk may be small.
const CONFIGURATION: &str = "\
listeners.tcp.1 = 127.0.0.1:AMQP
management.tcp.ip = 127.0.0.1
management.tcp.port = HTTP
management.ssl.ip = 127.0.0.1
management.ssl.port = TLS
management.ssl.cacertfile = CERTIFICATES/ca.pem
management.ssl.certfile = CERTIFICATES/server.pem
management.ssl.keyfile = CERTIFICATES/server.key
collect_statistics_interval = 100
disk_free_limit.absolute = 1MB
log.console = false
";

/// The shared RabbitMQ, started by the first test that asks.
pub fn rabbitmq() -> &'static Broker {
    static SHARED: OnceLock<(Broker, RabbitMq)> = OnceLock::new();
    &SHARED.get_or_init(start).0
}

fn start() -> (Broker, RabbitMq) {
    let rabbitmq = RabbitMq::start(&SETUP, &[]);
    let broker = Broker {
        http: rabbitmq.address("HTTP").to_string(),
        https: format!("localhost:{}", rabbitmq.address("TLS").port()),
        amqp: rabbitmq.address("AMQP").to_string(),
        environment: Some(rabbitmq.folder.join("environment")),
        company: RwLock::new(()),
    };
    (broker, rabbitmq)
}
