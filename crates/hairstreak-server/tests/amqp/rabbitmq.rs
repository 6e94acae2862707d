//! `RabbitMq`: Debian's RabbitMQ in a folder of its own, on loopback ports that were free, with its own port mapper. Tests that
//! run at the same time share one; it ends with the last of them, or with this process however that ends.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// The folder and the ports of the port mapper and of Erlang's distribution come as arguments. Input that ends,
/// because the test is done or was killed, ends the rest.
const SCRIPT: &str = r#"
set -m
export HOME=$1 RABBITMQ_NODENAME=hairstreak@localhost RABBITMQ_CONF_ENV_FILE=/dev/null
export RABBITMQ_MNESIA_BASE=$1/mnesia RABBITMQ_LOG_BASE=$1/log RABBITMQ_CONFIG_FILE=$1/rabbitmq
export RABBITMQ_ENABLED_PLUGINS_FILE=$1/enabled_plugins
export ERL_EPMD_PORT=$2 ERL_EPMD_ADDRESS=127.0.0.1 RABBITMQ_DIST_PORT=$3
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}'
epmd -port "$2" -address 127.0.0.1 </dev/null >/dev/null 2>&1 & mapper=$!
"$4" </dev/null & server=$!
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

/// The files of a node. In them FOLDER is the node's folder, MAPPER the port of the port mapper, and each name of a port that port.
pub struct Setup {
    pub ports: &'static [&'static str],
    pub plugins: &'static str,
    pub configuration: &'static str,
    pub definitions: &'static str,
}

/// A node of RabbitMQ. Dropped, it is killed and its folder removed.
pub struct RabbitMq {
    setup: &'static Setup,
    addresses: Vec<SocketAddr>,
    folder: PathBuf,
    script: Child,
    /// Closed, it ends the script.
    input: Option<ChildStdin>,
    company: RwLock<()>,
}

/// The RabbitMQ of the tests that run now, started if there is none. All tests of a program have one setup.
pub fn shared(setup: &'static Setup) -> Arc<RabbitMq> {
    static SHARED: Mutex<Weak<RabbitMq>> = Mutex::new(Weak::new());
    // A test that failed to start it leaves nothing behind.
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let started = Arc::new(RabbitMq::start(setup, &[]));
        *shared = Arc::downgrade(&started);
        started
    })
}

impl RabbitMq {
    /// `within` is a command that runs another, as `ip netns exec NAME` does.
    pub fn start(setup: &'static Setup, within: &[&str]) -> RabbitMq {
        assert!(
            Path::new(PROGRAM).exists(),
            "{PROGRAM} is missing; scripts/test-setup installs rabbitmq-server"
        );
        let ports = free_ports(2 + setup.ports.len());
        let [mapper, distribution, named @ ..] = &ports[..] else { unreachable!("two ports and more") };
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rabbitmq-{}-{mapper}", std::process::id()));
        lay_out(&folder, setup, *mapper, named);
        let words = [within, &["bash", "-c", SCRIPT, "rabbitmq"]].concat();
        let mut script = Command::new(words[0])
            .args(&words[1..])
            .arg(&folder)
            .args([mapper, distribution].map(u16::to_string))
            .arg(PROGRAM)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = script.stdin.take();
        let output = script.stdout.take().unwrap();
        let started = RabbitMq {
            setup,
            addresses: named.iter().map(|port| SocketAddr::from(([127, 0, 0, 1], *port))).collect(),
            folder,
            script,
            input,
            company: RwLock::new(()),
        };
        await_start(output, &started.folder);
        started
    }

    /// The address of a port that the setup names.
    pub fn address(&self, port: &str) -> SocketAddr {
        let index = self.setup.ports.iter().position(|name| *name == port);
        self.addresses[index.expect("a port of the setup")]
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
fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

fn lay_out(folder: &Path, setup: &Setup, mapper: u16, ports: &[u16]) {
    let folder_name = folder.to_str().unwrap();
    let filled = |text: &str| {
        let text = text.replace("FOLDER", folder_name).replace("MAPPER", &mapper.to_string());
        let named = setup.ports.iter().zip(ports);
        named.fold(text, |text, (name, port)| text.replace(name, &port.to_string()))
    };
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("rabbitmq.conf"), filled(setup.configuration)).unwrap();
    fs::write(folder.join("definitions.json"), setup.definitions).unwrap();
    fs::write(folder.join("enabled_plugins"), setup.plugins).unwrap();
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
