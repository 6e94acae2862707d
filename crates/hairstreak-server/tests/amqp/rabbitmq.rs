//! `RabbitMq`: Debian's RabbitMQ in a folder of its own, on loopback ports that were free, with its own port mapper. Tests that
//! run at the same time share one; it ends with the last of them, or with this process however that ends.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// The folder, the ports of AMQP, of the port mapper and of Erlang's distribution come as arguments. Input that ends,
/// because the test is done or was killed, ends the rest.
const SCRIPT: &str = r#"
set -m
export HOME=$1 RABBITMQ_NODENAME=hairstreak@localhost RABBITMQ_CONF_ENV_FILE=/dev/null
export RABBITMQ_MNESIA_BASE=$1/mnesia RABBITMQ_LOG_BASE=$1/log RABBITMQ_CONFIG_FILE=$1/rabbitmq
export RABBITMQ_ENABLED_PLUGINS_FILE=$1/enabled_plugins
export ERL_EPMD_PORT=$3 ERL_EPMD_ADDRESS=127.0.0.1 RABBITMQ_DIST_PORT=$4
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}'
epmd -port "$3" -address 127.0.0.1 </dev/null >/dev/null 2>&1 & mapper=$!
"$5" </dev/null & server=$!
read -r _
kill -KILL -- "-$server" "-$mapper"
wait
"#;

/// Has the node believe that it is short of memory, or no longer.
const ALARM: &str = r#"#!/bin/bash
export HOME=FOLDER RABBITMQ_NODENAME=hairstreak@localhost RABBITMQ_CONF_ENV_FILE=/dev/null
export ERL_EPMD_PORT=MAPPER ERL_EPMD_ADDRESS=127.0.0.1
case $1 in
  on) call='set_alarm({{resource_limit, memory, node()}, []})' ;;
  off) call='clear_alarm({resource_limit, memory, node()})' ;;
esac
exec /usr/lib/rabbitmq/bin/rabbitmqctl eval "rabbit_alarm:$call."
"#;

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

/// A node of RabbitMQ. Dropped, it is killed and its folder removed.
pub struct RabbitMq {
    pub address: SocketAddr,
    folder: PathBuf,
    script: Child,
    /// Closed, it ends the script.
    input: Option<ChildStdin>,
    company: RwLock<()>,
}

/// The RabbitMQ of the tests that run now, started if there is none.
pub fn rabbitmq() -> Arc<RabbitMq> {
    static SHARED: Mutex<Weak<RabbitMq>> = Mutex::new(Weak::new());
    // A test that failed to start it leaves nothing behind.
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let started = Arc::new(RabbitMq::start());
        *shared = Arc::downgrade(&started);
        started
    })
}

impl RabbitMq {
    fn start() -> RabbitMq {
        assert!(
            Path::new(PROGRAM).exists(),
            "{PROGRAM} is missing; scripts/test-setup installs rabbitmq-server"
        );
        let [amqp, mapper, distribution] = free_ports();
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rabbitmq-{}-{amqp}", std::process::id()));
        lay_out(&folder, amqp, mapper);
        let mut script = Command::new("bash")
            .args(["-c", SCRIPT, "rabbitmq"])
            .arg(&folder)
            .args([amqp, mapper, distribution].map(|port| port.to_string()))
            .arg(PROGRAM)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = script.stdin.take();
        let output = script.stdout.take().unwrap();
        let started = RabbitMq {
            address: SocketAddr::from(([127, 0, 0, 1], amqp)),
            folder,
            script,
            input,
            company: RwLock::new(()),
        };
        await_start(output, &started.folder);
        started
    }

    /// To be held by a test that others do not disturb.
    pub fn together(&self) -> RwLockReadGuard<'_, ()> {
        self.company.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be held by a test that disturbs all others.
    pub fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.company.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The command that sets and clears the memory alarm.
    pub fn alarm(&self) -> PathBuf {
        self.folder.join("alarm")
    }
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        self.input = None;
        // The folder goes even if the wait fails.
        let _ = self.script.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Ports that nobody listens on; another process may still be faster.
fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn lay_out(folder: &Path, amqp: u16, mapper: u16) {
    let folder_name = folder.to_str().unwrap();
    let filled = |text: &str| {
        let text = text.replace("FOLDER", folder_name);
        text.replace("AMQP", &amqp.to_string()).replace("MAPPER", &mapper.to_string())
    };
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("rabbitmq.conf"), filled(CONFIGURATION)).unwrap();
    fs::write(folder.join("definitions.json"), DEFINITIONS).unwrap();
    fs::write(folder.join("enabled_plugins"), "[rabbitmq_consistent_hash_exchange].").unwrap();
    fs::write(folder.join("alarm"), filled(ALARM)).unwrap();
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder.join("alarm"), fs::Permissions::from_mode(0o755)).unwrap();
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
