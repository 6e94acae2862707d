//! `RabbitMq`: Debian's RabbitMQ in a folder of its own, on loopback ports that were free, with its own port mapper. A
//! RabbitMQ ends when it is dropped, or with this process however that ends.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak, mpsc};
use std::time::Duration;

use hairstreak_testkit::until;

const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// The folder of certificates for localhost, and of the authority behind them.
pub const CERTIFICATES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../hairstreak-transport/tests/streams/certificates");

/// The arguments are the folder and the server's program. The output ends with the server: a server that ends at its start is seen.
/// Input that ends, because the test is done or was killed, ends the rest. A line ends the server in order, and keeps the folder. Without the umask a second
/// Erlang may find the cookie readable for others, and refuse to start.
const SCRIPT: &str = r#"
umask 077
set -m
. "$1/environment"
epmd -port "$ERL_EPMD_PORT" -address 127.0.0.1 </dev/null >/dev/null 2>&1 & mapper=$!
"$2" </dev/null & server=$!
exec >/dev/null
read -r order
[ -z "$order" ] || { kill -TERM "$server" && wait "$server"; }
kill -KILL -- "-$server" "-$mapper"
wait
[ -n "$order" ] || rm -rf "$1"
"#;

const ENVIRONMENT: &str = "\
export HOME='FOLDER' RABBITMQ_NODENAME=hairstreak@localhost RABBITMQ_CONF_ENV_FILE=/dev/null
export RABBITMQ_MNESIA_BASE='FOLDER/mnesia' RABBITMQ_LOG_BASE='FOLDER/log' RABBITMQ_CONFIG_FILE='FOLDER/rabbitmq'
export RABBITMQ_ENABLED_PLUGINS_FILE='FOLDER/enabled_plugins'
export ERL_EPMD_PORT=MAPPER ERL_EPMD_ADDRESS=127.0.0.1 RABBITMQ_DIST_PORT=DISTRIBUTION
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1} +sbwt none'
";

/// Has the node believe that it is short of memory, or no longer.
const ALARM: &str = r#"#!/bin/bash
. 'FOLDER/environment'
case $1 in
  on) call='set_alarm({{resource_limit, memory, node()}, []})' ;;
  off) call='clear_alarm({resource_limit, memory, node()})' ;;
esac
exec /usr/lib/rabbitmq/bin/rabbitmqctl eval "rabbit_alarm:$call."
"#;

/// Systems give connections ports from 32768 on: a port of those can be taken in the ten seconds until RabbitMQ listens.
const PORTS: Range<u16> = 10_000..30_000;
/// The longest time without a line from a RabbitMQ that starts.
const SILENCE_MAX: Duration = Duration::from_secs(120);

/// The files of a node. In the configuration each name of a port is that port, FOLDER the node's folder and CERTIFICATES the folder of
/// certificates.
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
    /// The folder has the file `environment`: the shell's variables for rabbitmqctl.
    pub folder: PathBuf,
    script: Child,
    /// Closed, it ends the script.
    input: Option<ChildStdin>,
    company: RwLock<()>,
}

/// The RabbitMQ of the tests that run now, started if there is none. The RabbitMQ ends with the last of these tests. All tests of a program have one setup.
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
        let folder = format!("rabbitmq-{}-{}", std::process::id(), ports[0]);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        lay_out(&folder, setup, &ports);
        let mut script = run_script(&folder, within);
        let input = script.stdin.take();
        let output = script.stdout.take().unwrap();
        let started = RabbitMq {
            setup,
            addresses: ports[2..].iter().map(|port| SocketAddr::from(([127, 0, 0, 1], *port))).collect(),
            folder,
            script,
            input,
            company: RwLock::new(()),
        };
        await_start(output);
        started
    }

    /// Stops the node in order. It keeps its folder and its ports.
    pub fn stop(&mut self) {
        self.input.take().unwrap().write_all(b"stop\n").unwrap();
        until("RabbitMQ has stopped", || self.script.try_wait().unwrap());
    }

    /// Starts the node after [`RabbitMq::stop`].
    pub fn start_again(&mut self) {
        self.script = run_script(&self.folder, &[]);
        self.input = self.script.stdin.take();
        await_start(self.script.stdout.take().unwrap());
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
        // The script ends the rest and removes the folder, whether or not the wait fails.
        let _ = self.script.wait();
    }
}

/// Ports without a listener. Two calls return different ports. Another process may still take a port first.
fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let own = std::process::id().wrapping_mul(8);
    let candidates = PORTS.map(|_| {
        let next = own.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        PORTS.start + (next % PORTS.len() as u32) as u16
    });
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let ports: Vec<_> = candidates.filter(is_free).take(count).collect();
    assert_eq!(ports.len(), count, "no port of {PORTS:?} is free");
    ports
}

fn lay_out(folder: &Path, setup: &Setup, ports: &[u16]) {
    let names = [&["MAPPER", "DISTRIBUTION"], setup.ports].concat();
    let filled = |text: &str| {
        let named = names.iter().zip(ports);
        let text = named.fold(text.to_owned(), |text, (name, port)| text.replace(name, &port.to_string()));
        text.replace("FOLDER", folder.to_str().unwrap()).replace("CERTIFICATES", CERTIFICATES)
    };
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("environment"), filled(ENVIRONMENT)).unwrap();
    fs::write(folder.join("rabbitmq.conf"), filled(setup.configuration)).unwrap();
    fs::write(folder.join("definitions.json"), setup.definitions).unwrap();
    fs::write(folder.join("enabled_plugins"), setup.plugins).unwrap();
    fs::write(folder.join("alarm"), filled(ALARM)).unwrap();
    fs::set_permissions(folder.join("alarm"), Permissions::from_mode(0o755)).unwrap();
}

/// Starts the node of a folder.
fn run_script(folder: &Path, within: &[&str]) -> Child {
    let words = [within, &["bash", "-c", SCRIPT, "rabbitmq"]].concat();
    Command::new(words[0])
        .args(&words[1..])
        .arg(folder)
        .arg(PROGRAM)
        // The working folder gets the dump of a crash.
        .current_dir(folder)
        // A signal to the group of this process does not reach the script, which has to end the rest.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the node has started. A thread reads the output to the end, so that the node never waits for a reader.
fn await_start(output: ChildStdout) {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
        // The receiver is gone once the node has started.
        lines.for_each(|line| drop(sender.send(line)));
    });
    let mut said = String::new();
    while !said.contains("completed with") {
        let Ok(line) = lines.recv_timeout(SILENCE_MAX) else { panic!("RabbitMQ did not start:\n{said}") };
        said += &String::from_utf8_lossy(&line);
        said.push('\n');
    }
}
