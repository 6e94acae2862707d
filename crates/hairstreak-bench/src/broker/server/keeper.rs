//! The keeper: starts a broker, answers, and ends the broker when its own standard input ends. It alone knows how each
//! broker is configured.
//!
//! - Our node is `hairstreak serve` from beside this program.
//! - RabbitMQ is as Debian's package has it, without plugins. Directory, ports, port mapper, node name, configuration and
//!   cookie are its own. At the end it is killed: none of its data is worth keeping.
//!
//! Everything listens on the loopback interface only, Erlang's port mapper and distribution included.

use std::fs::{self, File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::super::amqp::Link;
use super::super::limit;
use super::running::{Running, ServerKind, ServerTask};
use crate::frame::cores::keep_to_range;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The node's program, beside this one.
const NODE_PROGRAM: &str = "hairstreak";
/// The script of Debian's package that starts RabbitMQ as the calling user.
pub const RABBITMQ_PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// Erlang's port mapper.
const PORT_MAPPER: &str = "epmd";
const NO_PLUGINS: &str = "[].\n";
/// The distribution between Erlang's nodes.
const LOOPBACK_DISTRIBUTION: &str = "-kernel inet_dist_use_interface {127,0,0,1}";
/// The most starts of a RabbitMQ that does not answer. Erlang may hang while it boots on a busy machine.
const STARTS_MAX: u32 = 3;
/// RabbitMQ takes four seconds on an idle machine.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Linux gives connections the ports from 32,768 on. Such a port can be taken in the seconds until RabbitMQ listens.
const PORTS: Range<u16> = 10_000..30_000;
/// The most bytes of a failed broker's output that an error shows.
const OUTPUT_SIZE_MAX: usize = 2000;
const OUTPUT: &str = "output";

/// Returns whether `program` is there to be started.
pub fn is_installed(program: &str) -> bool {
    Path::new(program).is_file()
}

/// Keeps the broker of `task`, a `ServerTask` in JSON, until standard input ends.
pub fn keep(task: &str) -> Result<()> {
    let task: ServerTask = serde_json::from_str(task).context("not for a keeper")?;
    if let Some(range) = task.cores {
        keep_to_range(range);
    }
    // The broker lives until this process ends.
    let (answer, _broker) = match task.kind {
        ServerKind::Node => start_node(task.loop_count)?,
        ServerKind::RabbitMq => start_rabbitmq(&task)?,
        ServerKind::Limit => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let address = listener.local_addr()?;
            thread::spawn(move || limit::serve(&listener));
            (Running::at(task.kind, address, Some(process::id())), None)
        }
    };
    let mut output = io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(&answer)?)?;
    output.flush()?;
    // An error is an end, too: the benchmark that needs the broker is gone.
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    Ok(())
}

/// Starts a node with `loop_count` event loops, or as many as it chooses, and waits until the node answers.
fn start_node(loop_count: Option<u32>) -> Result<(Running, Option<Broker>)> {
    let mut broker = Broker::new("node")?;
    let (address, http) = (free_address(LOOPBACK)?, free_address(LOOPBACK)?);
    let listeners = [("http", http), ("metrics", free_address(LOOPBACK)?), ("amqp", address)];
    let tables = listeners.map(|(table, address)| format!("[{table}]\nbind = [\"tcp://{address}\"]\n"));
    // The loops belong to the last table.
    let loops = loop_count.map(|count| format!("loops = {count}\n")).unwrap_or_default();
    let configuration = broker.write("node.toml", &(tables.concat() + &loops))?;
    let program = env::current_exe()?.with_file_name(NODE_PROGRAM);
    let mut command = Command::new(&program);
    // The directory and the services are not measured here.
    command.args(["serve", "--port", "0", "--data-dir", "none", "--config"]).arg(configuration);
    broker.spawn(&mut command)?;
    let process_id = broker.await_answer(&program.to_string_lossy(), address)?;
    let mut node = Running::at(ServerKind::Node, address, Some(process_id));
    node.http = Some(http);
    Ok((node, Some(broker)))
}

/// Starts the script of `task` and waits until RabbitMQ answers. A RabbitMQ that does not answer is started again, and
/// standard error has the count.
fn start_rabbitmq(task: &ServerTask) -> Result<(Running, Option<Broker>)> {
    for start in 1..STARTS_MAX {
        match start_rabbitmq_once(task) {
            Err(error) if error.is::<Silent>() => {
                eprintln!("RabbitMQ: start {start} of {STARTS_MAX} was not answered: started again");
            }
            started => return started,
        }
    }
    start_rabbitmq_once(task)
}

fn start_rabbitmq_once(task: &ServerTask) -> Result<(Running, Option<Broker>)> {
    let mut broker = Broker::new("rabbitmq")?;
    let (address, distribution) = (free_address(task.host)?, free_address(LOOPBACK)?);
    let mapper_port = free_address(LOOPBACK)?.port().to_string();
    // Erlang makes a missing cookie readable for all at first. A second Erlang that looks meanwhile refuses to start.
    broker.write_secret(".erlang.cookie")?;
    broker.spawn(Command::new(PORT_MAPPER).args(["-address", "127.0.0.1", "-port", &mapper_port]))?;
    let data = broker.directory.join("mnesia");
    let mut server = Command::new(&task.rabbitmq);
    server
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("HOME", &broker.directory)
        .env("LANG", "C.UTF-8")
        // So that the script becomes the server instead of waiting for it.
        .env("RUNNING_UNDER_SYSTEMD", "true")
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("ERL_EPMD_PORT", mapper_port)
        .env("RABBITMQ_NODENAME", format!("hairstreak-bench-{}@localhost", process::id()))
        .env("RABBITMQ_NODE_IP_ADDRESS", address.ip().to_string())
        .env("RABBITMQ_NODE_PORT", address.port().to_string())
        .env("RABBITMQ_DIST_PORT", distribution.port().to_string())
        .env("RABBITMQ_MNESIA_BASE", &data)
        .env("RABBITMQ_LOG_BASE", broker.directory.join("log"))
        .env("RABBITMQ_CONFIG_FILE", broker.write("rabbitmq.conf", &rabbitmq_configuration(task, address))?)
        .env("RABBITMQ_CONF_ENV_FILE", broker.write("rabbitmq-env.conf", "")?)
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", broker.write("enabled_plugins", NO_PLUGINS)?)
        .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", LOOPBACK_DISTRIBUTION);
    broker.spawn(&mut server)?;
    let process_id = broker.await_answer(&task.rabbitmq, address)?;
    let mut rabbitmq = Running::at(task.kind, address, Some(process_id));
    rabbitmq.data = Some(data);
    Ok((rabbitmq, Some(broker)))
}

fn rabbitmq_configuration(task: &ServerTask, address: SocketAddr) -> String {
    let mut text = format!("listeners.tcp.1 = {address}\nlog.console = false\nlog.file.level = warning\n");
    if !task.host.is_loopback() {
        text.push_str("loopback_users = none\n");
    }
    if let Some(bytes) = task.memory_bytes {
        text.push_str(&format!("vm_memory_high_watermark.absolute = {bytes}\n"));
    }
    text
}

/// The error of a broker that does not answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Silent(String);

/// Processes and files of one broker.
#[derive(Debug)]
struct Broker {
    /// The path of the directory.
    directory: PathBuf,
    children: Vec<Child>,
}

impl Broker {
    /// Makes a directory among the temporary files.
    fn new(name: &str) -> Result<Broker> {
        let directory = env::temp_dir().join(format!("hairstreak-bench-{name}-{}", process::id()));
        fs::create_dir_all(&directory).context("the directory of a broker")?;
        Ok(Broker { directory, children: Vec::new() })
    }

    /// Writes a file and returns its path.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.directory.join(name);
        fs::write(&path, text).context("a file of a broker")?;
        Ok(path)
    }

    /// Writes a random secret into a file for the owner alone.
    fn write_secret(&self, name: &str) -> Result<()> {
        let random = || RandomState::new().build_hasher().finish();
        let path = self.write(name, &format!("{:016X}{:016X}", random(), random()))?;
        fs::set_permissions(path, Permissions::from_mode(0o400)).context("a file of a broker")
    }

    /// Starts a program. Its output goes to a file.
    fn spawn(&mut self, command: &mut Command) -> Result<()> {
        let output = || File::options().create(true).append(true).open(self.directory.join(OUTPUT));
        let child = command.stdin(Stdio::null()).stdout(output()?).stderr(output()?).spawn();
        let program = || format!("cannot start {}", command.get_program().to_string_lossy());
        self.children.push(child.with_context(program)?);
        Ok(())
    }

    /// Waits until the last program opens a channel at `address`. Returns its process.
    fn await_answer(&mut self, program: &str, address: SocketAddr) -> Result<u32> {
        let start = Instant::now();
        let output = self.directory.join(OUTPUT);
        let said = || {
            let said = fs::read(&output).unwrap_or_default();
            let end = &said[said.len().saturating_sub(OUTPUT_SIZE_MAX)..];
            String::from_utf8_lossy(end).trim().to_owned()
        };
        let child = self.children.last_mut().context("no process of a broker")?;
        loop {
            let Err(error) = Link::open(address) else { return Ok(child.id()) };
            if child.try_wait()?.is_some() {
                bail!("{program} ended; it said: {}", said());
            }
            ensure!(!is_abandoned(), "the benchmark is gone");
            if start.elapsed() > ANSWER_TIME_MAX {
                let error = anyhow::Error::from(error);
                bail!(Silent(format!("{program} does not answer ({error:#}); it said: {}", said())));
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            // Both fail only if the child has been reaped already.
            let _ = child.kill();
            let _ = child.wait();
        }
        // An error leaves files among the temporary files.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Returns whether the benchmark has gone. Its end closes the standard input of this process.
fn is_abandoned() -> bool {
    let input = io::stdin();
    let mut watched = [PollFd::new(&input, PollFlags::IN)];
    // The next look comes soon if this look fails.
    let _ = poll(&mut watched, Some(&Timespec::default()));
    watched[0].revents().contains(PollFlags::HUP)
}

/// Returns a free port of this host's address `host`. Each call returns another port.
fn free_address(host: IpAddr) -> Result<SocketAddr> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let own = process::id().wrapping_mul(8);
    for _ in PORTS {
        let offset = own.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS.len() as u32;
        let address = SocketAddr::new(host, PORTS.start + offset as u16);
        match TcpListener::bind(address) {
            Ok(_) => return Ok(address),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error).context("a free port"),
        }
    }
    bail!("no free port")
}
