//! `RabbitMq`: Debian's RabbitMQ with its management plugin, in a folder of its own, on loopback ports that were free, with
//! its own port mapper. The tests of this process share one. It ends, and its folder goes, with this process, however that
//! ends.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use crate::broker::Broker;
use crate::process::folder;

const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// Certificates for localhost, and the authority behind them.
pub const CERTIFICATES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../hairstreak-transport/tests/streams/certificates");

/// The folder, the ports of the port mapper and of Erlang's distribution come as arguments. Input that ends, because the
/// tests are done or were killed, ends the rest.
const SCRIPT: &str = r#"
set -m
. "$1/environment"
epmd -port "$ERL_EPMD_PORT" -address 127.0.0.1 </dev/null >/dev/null 2>&1 & mapper=$!
/usr/lib/rabbitmq/bin/rabbitmq-server </dev/null & server=$!
read -r _
kill -KILL -- "-$server" "-$mapper"
wait
rm -rf "$1"
"#;

const ENVIRONMENT: &str = "\
export HOME=FOLDER RABBITMQ_NODENAME=hairstreak@localhost RABBITMQ_CONF_ENV_FILE=/dev/null
export RABBITMQ_MNESIA_BASE=FOLDER/mnesia RABBITMQ_LOG_BASE=FOLDER/log RABBITMQ_CONFIG_FILE=FOLDER/rabbitmq
export RABBITMQ_ENABLED_PLUGINS_FILE=FOLDER/enabled_plugins
export ERL_EPMD_PORT=MAPPER ERL_EPMD_ADDRESS=127.0.0.1 RABBITMQ_DIST_PORT=DISTRIBUTION
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1} +sbwt none'
";

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
    static SHARED: OnceLock<(Broker, Child)> = OnceLock::new();
    &SHARED.get_or_init(start).0
}

fn start() -> (Broker, Child) {
    assert!(Path::new(PROGRAM).exists(), "{PROGRAM} is missing; scripts/test-setup installs rabbitmq-server");
    let folder = folder("rabbitmq");
    let ports = free_ports();
    lay_out(&folder, ports);
    let mut script = Command::new("bash")
        .args(["-c", SCRIPT, "rabbitmq"])
        .arg(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    await_start(script.stdout.take().unwrap(), &folder);
    let [amqp, http, tls, ..] = ports;
    let broker = Broker {
        http: format!("127.0.0.1:{http}"),
        https: format!("localhost:{tls}"),
        amqp: format!("127.0.0.1:{amqp}"),
        environment: Some(folder.join("environment")),
    };
    (broker, script)
}

/// Ports that nobody listens on; another process may still be faster.
fn free_ports() -> [u16; 5] {
    let listeners = [(); 5].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn lay_out(folder: &Path, ports: [u16; 5]) {
    let names = ["AMQP", "HTTP", "TLS", "MAPPER", "DISTRIBUTION"];
    let filled = |text: &str| {
        let text = text.replace("FOLDER", folder.to_str().unwrap()).replace("CERTIFICATES", CERTIFICATES);
        let named = names.iter().zip(ports);
        named.fold(text, |text, (name, port)| text.replace(name, &port.to_string()))
    };
    fs::write(folder.join("environment"), filled(ENVIRONMENT)).unwrap();
    fs::write(folder.join("rabbitmq.conf"), filled(CONFIGURATION)).unwrap();
    fs::write(folder.join("enabled_plugins"), "[rabbitmq_management].").unwrap();
}

/// Reads what the node says until it has started. What it says later is read and thrown away, so that it is never held up.
fn await_start(output: ChildStdout, folder: &Path) {
    let mut output = BufReader::new(output);
    let mut said = String::new();
    while !said.contains("completed with") {
        if output.read_line(&mut said).unwrap() == 0 {
            panic!("RabbitMQ did not start in {}:\n{said}", folder.display());
        }
    }
    std::thread::spawn(move || {
        let _ = output.read_to_end(&mut Vec::new());
    });
}
