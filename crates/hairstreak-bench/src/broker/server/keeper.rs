//! The keeper: starts a broker, answers, and ends the broker when its own standard input ends. At a line with a [`Loss`] it kills the
//! broker, destroys files and starts the broker again. It alone knows how each broker is configured.
//!
//! - Our node is `hairstreak serve` from beside this program.
//! - RabbitMQ is as Debian's package has it, without plugins. Directory, ports, port mapper, node name, configuration and
//!   cookie are its own. At the end it is killed: none of its data is worth keeping.
//!
//! Everything listens on the loopback interface only, Erlang's port mapper and distribution included.

use std::borrow::Cow;
use std::fs::{self, File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::os::unix::fs::{FileExt, PermissionsExt};
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
use super::running::{Durable, Loss, Restart, Running, ServerKind, ServerTask};
use crate::frame::cores::keep_to_range;
use crate::frame::disk::{files_below, read_uncached};

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
/// A broker that was killed may have much to read.
const RESTART_TIME_MAX: Duration = Duration::from_secs(600);
const LOOK_INTERVAL: Duration = Duration::from_millis(1);
/// Linux gives connections the ports from 32,768 on. Such a port can be taken in the seconds until RabbitMQ listens.
const PORTS: Range<u16> = 10_000..30_000;
/// The most bytes of a failed broker's output that an error shows.
const OUTPUT_SIZE_MAX: usize = 2000;
const OUTPUT: &str = "output";
/// Suffix of a segment of our node, and the name of its checkpoint.
pub const SEGMENT: &str = "segment";
const CHECKPOINT: &str = "checkpoint";
/// The last bytes of a sealed segment, which begin with the magic bytes of its footer.
const TRAILER_SIZE: u64 = 512;
const FOOTER_MAGIC: &[u8; 4] = b"HFtr";

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
    let (mut answer, mut broker) = match task.kind {
        ServerKind::Node => start_node(&task)?,
        ServerKind::RabbitMq => start_rabbitmq(&task)?,
        ServerKind::Limit => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let address = listener.local_addr()?;
            let broker = Broker::new("limit")?;
            let open = |durable: Durable| {
                limit::Disk::open(&broker.directory.join("messages"), durable.sync_delay())
            };
            let disk = task.durable.map(open).transpose()?;
            thread::spawn(move || limit::serve(&listener, disk.as_ref()));
            (Running::at(task.kind, address, Some(process::id())), broker)
        }
    };
    let mut output = io::stdout().lock();
    let mut tell = |answer: &Running| {
        writeln!(output, "{}", serde_json::to_string(answer)?)?;
        anyhow::Ok(output.flush()?)
    };
    tell(&answer)?;
    // An error is an end, too: the benchmark that needs the broker is gone.
    for line in io::stdin().lines().map_while(Result::ok) {
        let loss = serde_json::from_str(&line).with_context(|| format!("a keeper was told {line:?}"))?;
        broker.restart(&mut answer, loss)?;
        tell(&answer)?;
    }
    Ok(())
}

/// Starts the node of `task` and waits until the node answers.
fn start_node(task: &ServerTask) -> Result<(Running, Broker)> {
    let mut broker = Broker::new("node")?;
    let (address, http) = (free_address(LOOPBACK)?, free_address(LOOPBACK)?);
    let listeners = [("http", http), ("metrics", free_address(LOOPBACK)?), ("amqp", address)];
    let tables = listeners.map(|(table, address)| format!("[{table}]\nbind = [\"tcp://{address}\"]\n"));
    // Loops and memory belong to the last table.
    let loops = task.loop_count.map(|count| format!("loops = {count}\n")).unwrap_or_default();
    let memory = task.memory_bytes.map(|bytes| format!("memory_watermark = {bytes}\n")).unwrap_or_default();
    let durable = |Durable { sync_delay_ms }| format!("store_sync_delay_ms = {sync_delay_ms}\n");
    let store = task.durable.map(durable).unwrap_or_default();
    let configuration = broker.write("node.toml", &(store + &tables.concat() + &loops + &memory))?;
    let program = env::current_exe()?.with_file_name(NODE_PROGRAM);
    let mut command = Command::new(&program);
    // The directory and the services are not measured here.
    let data = task.durable.map(|_| broker.directory.join("data"));
    command.args(["serve", "--port", "0", "--config"]).arg(configuration).arg("--data-dir");
    command.arg(data.as_deref().unwrap_or(Path::new("none")));
    broker.spawn(command)?;
    let process_id = broker.await_answer(address, ANSWER_TIME_MAX)?;
    let mut node = Running::at(ServerKind::Node, address, Some(process_id));
    (node.http, node.data) = (Some(http), data);
    Ok((node, broker))
}

/// Starts the script of `task` and waits until RabbitMQ answers. A RabbitMQ that does not answer is started again, and
/// standard error has the count.
fn start_rabbitmq(task: &ServerTask) -> Result<(Running, Broker)> {
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

fn start_rabbitmq_once(task: &ServerTask) -> Result<(Running, Broker)> {
    let mut broker = Broker::new("rabbitmq")?;
    let (address, distribution) = (free_address(task.host)?, free_address(LOOPBACK)?);
    let mapper_port = free_address(LOOPBACK)?.port().to_string();
    // Erlang makes a missing cookie readable for all at first. A second Erlang that looks meanwhile refuses to start.
    broker.write_secret(".erlang.cookie")?;
    let mut mapper = Command::new(PORT_MAPPER);
    mapper.args(["-address", "127.0.0.1", "-port", &mapper_port]);
    broker.spawn(mapper)?;
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
    broker.spawn(server)?;
    let process_id = broker.await_answer(address, ANSWER_TIME_MAX)?;
    let mut rabbitmq = Running::at(task.kind, address, Some(process_id));
    rabbitmq.data = Some(data);
    Ok((rabbitmq, broker))
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
    /// Its programs with their processes; the broker is the last one.
    children: Vec<(Command, Child)>,
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
    fn spawn(&mut self, mut command: Command) -> Result<()> {
        let output = || File::options().create(true).append(true).open(self.directory.join(OUTPUT));
        let child = command.stdin(Stdio::null()).stdout(output()?).stderr(output()?).spawn();
        let child = child.with_context(|| format!("cannot start {}", program_of(&command)))?;
        self.children.push((command, child));
        Ok(())
    }

    /// Kills the broker and starts it again. None of its files is in the page cache then. `answer` has the new process and the times.
    fn restart(&mut self, answer: &mut Running, loss: Loss) -> Result<()> {
        let (command, child) = self.children.last_mut().context("no process of a broker")?;
        child.kill()?;
        child.wait()?;
        let data = answer.data.as_deref().context("a broker that keeps nothing")?;
        let lost_count = destroy(data, loss).context("the files of a broker")?;
        let (data_bytes, read_s) = read_uncached(data).context("the files of a broker")?;
        let start = Instant::now();
        *child = command.spawn().with_context(|| format!("cannot start {}", program_of(command)))?;
        answer.process_id = Some(self.await_answer(answer.address, RESTART_TIME_MAX)?);
        let start_s = start.elapsed().as_secs_f64();
        answer.restart = Some(Restart { start_s, data_bytes, read_s, lost_count });
        Ok(())
    }

    /// Waits until the last program opens a channel at `address`, for `time_max` at most. Returns its process.
    fn await_answer(&mut self, address: SocketAddr, time_max: Duration) -> Result<u32> {
        let start = Instant::now();
        let output = self.directory.join(OUTPUT);
        let said = || {
            let said = fs::read(&output).unwrap_or_default();
            let end = &said[said.len().saturating_sub(OUTPUT_SIZE_MAX)..];
            String::from_utf8_lossy(end).trim().to_owned()
        };
        let (command, child) = self.children.last_mut().context("no process of a broker")?;
        let program = program_of(command);
        loop {
            let Err(error) = Link::open(address) else { return Ok(child.id()) };
            if child.try_wait()?.is_some() {
                bail!("{program} ended; it said: {}", said());
            }
            ensure!(!is_abandoned(), "the benchmark is gone");
            if start.elapsed() > time_max {
                let error = anyhow::Error::from(error);
                bail!(Silent(format!("{program} does not answer ({error:#}); it said: {}", said())));
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        for (_, child) in self.children.iter_mut().rev() {
            // Both fail only if the child has been reaped already.
            let _ = child.kill();
            let _ = child.wait();
        }
        // An error leaves files among the temporary files.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Destroys the files of a loss, and returns their number. docs/format.md has their bytes.
fn destroy(data: &Path, loss: Loss) -> io::Result<u64> {
    let mut count = 0;
    for path in files_below(data)? {
        let is_segment = path.extension().is_some_and(|extension| extension == SEGMENT);
        let is_checkpoint = path.file_stem().is_some_and(|stem| stem == CHECKPOINT);
        if is_segment && loss != Loss::Nothing {
            count += u64::from(clear_footer(&File::options().read(true).write(true).open(path)?)?);
        } else if is_checkpoint && loss == Loss::Index {
            fs::remove_file(path)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Clears the magic bytes of a segment's footer. Returns whether there is a footer.
fn clear_footer(segment: &File) -> io::Result<bool> {
    let Some(place) = segment.metadata()?.len().checked_sub(TRAILER_SIZE) else { return Ok(false) };
    let mut magic = [0; FOOTER_MAGIC.len()];
    segment.read_exact_at(&mut magic, place)?;
    if magic != *FOOTER_MAGIC {
        return Ok(false);
    }
    segment.write_all_at(&[0; FOOTER_MAGIC.len()], place)?;
    Ok(true)
}

fn program_of(command: &Command) -> Cow<'_, str> {
    command.get_program().to_string_lossy()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_destroys_derived_bytes_and_nothing_else() {
        let data = env::temp_dir().join(format!("hairstreak-bench-loss-{}", process::id()));
        let messages = data.join("messages");
        let (sealed, active) = (messages.join("00000001.segment"), messages.join("00000002.segment"));
        let check = |loss, destroyed_count, left: &[&str]| {
            fs::create_dir_all(&messages).unwrap();
            let mut segment = vec![7; 2048];
            fs::write(&active, &segment).unwrap();
            segment[1536..1540].copy_from_slice(FOOTER_MAGIC);
            fs::write(&sealed, &segment).unwrap();
            for name in ["checkpoint", "checkpoint.old", "other"] {
                fs::write(messages.join(name), "a").unwrap();
            }
            assert_eq!(destroy(&data, loss).unwrap(), destroyed_count);
            let mut paths = files_below(&messages).unwrap();
            paths.sort();
            let names = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap());
            assert_eq!(names.collect::<Vec<_>>(), [&["00000001.segment", "00000002.segment"], left].concat());
            segment[1536..1540].copy_from_slice(if loss == Loss::Nothing { FOOTER_MAGIC } else { &[0; 4] });
            assert!(fs::read(&sealed).unwrap() == segment && fs::read(&active).unwrap() == [7; 2048]);
        };
        let derived = ["checkpoint", "checkpoint.old", "other"];
        check(Loss::Nothing, 0, &derived);
        check(Loss::Footers, 1, &derived);
        check(Loss::Index, 3, &["other"]);
        fs::remove_dir_all(data).unwrap();
    }
}
