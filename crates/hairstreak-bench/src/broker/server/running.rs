//! `Running`: a broker under test, as the benchmark sees it.
//!
//! A keeper has its task, in JSON, as an argument. It answers with one line of JSON when the broker can be used. Processor
//! time, context switches and memory of the broker's process are read from `/proc` (proc(5)).

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::frame::cores::CoreRange;
use crate::frame::usage::Usage;

/// Ticks of the kernel's count of processor time in a second (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;

/// A broker under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerKind {
    /// `hairstreak serve`.
    Node,
    /// RabbitMQ.
    RabbitMq,
    /// The limit program.
    Limit,
}

impl ServerKind {
    /// The name in messages to people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Node => "hairstreak",
            Self::RabbitMq => "RabbitMQ",
            Self::Limit => "limit",
        }
    }
}

/// The broker to keep, and its settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerTask {
    /// The broker.
    pub kind: ServerKind,
    /// Event loops of the node; `None`: the node's own choice.
    pub loop_count: Option<u32>,
    /// The cores to keep to; `None`: all.
    pub cores: Option<CoreRange>,
    /// The script that starts RabbitMQ.
    pub rabbitmq: String,
    /// The address that RabbitMQ listens on. Unless it is a loopback address, every client that reaches it may log in.
    pub host: IpAddr,
    /// Bytes at which RabbitMQ stops publishers; `None`: as Debian's package has it.
    pub memory_bytes: Option<u64>,
}

/// The answer of a keeper whose broker can be used.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServerAnswer {
    /// The address of AMQP.
    pub address: SocketAddr,
    /// The address of HTTP, if the broker has HTTP.
    pub http: Option<SocketAddr>,
    /// The broker's process.
    pub process_id: u32,
    /// The directory of RabbitMQ's data.
    pub data: Option<PathBuf>,
}

/// A broker that can be used. Dropping it ends it and waits until everything of it is gone.
#[derive(Debug)]
pub struct Running {
    /// The broker.
    pub kind: ServerKind,
    /// Event loops of the node, if their number was chosen.
    pub loop_count: Option<u32>,
    /// The address of AMQP.
    pub address: SocketAddr,
    /// The address of HTTP, if the broker has HTTP and the address is known.
    pub http: Option<SocketAddr>,
    /// The broker's process, if it is known.
    pub process_id: Option<u32>,
    /// The directory of RabbitMQ's data.
    pub data: Option<PathBuf>,
    _keeper: Option<Keeper>,
}

impl Running {
    /// Starts a broker and waits until the broker answers.
    pub fn start(task: &ServerTask) -> Result<Running> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["worker", "broker-server", &serde_json::to_string(task)?]);
        // Ctrl-C is for the benchmark; the keeper ends with its standard input, and has to remove things first.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = Keeper(command.spawn().context("a keeper")?);
        let mut line = String::new();
        if let Some(output) = keeper.0.stdout.take() {
            BufReader::new(output).read_line(&mut line).context("a keeper")?;
        }
        // The keeper has written its reason to standard error.
        let answer = serde_json::from_str(&line).ok();
        let answer = answer.with_context(|| format!("{} could not be started", task.kind.text()))?;
        let ServerAnswer { address, http, process_id, data } = answer;
        let (kind, loop_count, process_id) = (task.kind, task.loop_count, Some(process_id));
        Ok(Running { kind, loop_count, address, http, process_id, data, _keeper: Some(keeper) })
    }

    /// A node that another program has started.
    pub fn elsewhere(address: SocketAddr, process_id: Option<u32>) -> Running {
        let kind = ServerKind::Node;
        Running { kind, loop_count: None, address, http: None, process_id, data: None, _keeper: None }
    }

    /// Returns the consumption so far, if the process is known.
    pub fn usage(&self) -> Result<Option<Usage>> {
        self.process_id.map(usage).transpose().context("the process of a broker")
    }

    /// Returns the bytes in memory, if the process is known.
    pub fn resident_bytes(&self) -> Result<Option<u64>> {
        self.process_id.map(resident_bytes).transpose().context("the process of a broker")
    }
}

/// The process of a keeper. Dropping it lets the keeper end its broker.
#[derive(Debug)]
struct Keeper(Child);

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It fails only if the keeper has been reaped already.
        let _ = self.0.wait();
    }
}

/// Returns the consumption of a process since its start. A thread that has ended takes its switches along.
fn usage(process_id: u32) -> Result<Usage> {
    let stat = fs::read_to_string(format!("/proc/{process_id}/stat"))?;
    let (user_s, system_s) = times(&stat).with_context(|| format!("/proc/{process_id}/stat has no times"))?;
    let mut voluntary_switches = 0;
    for thread in fs::read_dir(format!("/proc/{process_id}/task"))? {
        // A thread may end at any time.
        let status = fs::read_to_string(thread?.path().join("status")).unwrap_or_default();
        voluntary_switches += field(&status, "voluntary_ctxt_switches:").unwrap_or_default();
    }
    Ok(Usage { cpu_s: user_s + system_s, system_s, voluntary_switches, allocations: 0 })
}

/// Returns the bytes that a process has in memory.
fn resident_bytes(process_id: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process_id}/status"))?;
    let kib = field(&status, "VmRSS:").with_context(|| format!("/proc/{process_id}/status has no memory"))?;
    Ok(1024 * kib)
}

/// User and system time: fields 14 and 15 of `stat`, of which the second is a name in parentheses.
fn times(stat: &str) -> Option<(f64, f64)> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut ticks = rest.split(' ').skip(11).map_while(|field| field.parse::<f64>().ok());
    Some((ticks.next()? / TICKS_PER_S, ticks.next()? / TICKS_PER_S))
}

fn field(status: &str, name: &str) -> Option<u64> {
    let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().trim_end_matches(" kB").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{field, resident_bytes, times, usage};

    #[test]
    fn times_stand_behind_a_name_that_may_hold_anything() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 5\n";
        assert_eq!(times(stat), Some((2.5, 0.5)));
        assert_eq!(times("7 (a"), None);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let status = "VmRSS:\t    12 kB\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t9\n";
        assert_eq!(field(status, "VmRSS:"), Some(12));
        assert_eq!(field(status, "voluntary_ctxt_switches:"), Some(3));
    }

    #[test]
    fn this_process_uses_memory() {
        assert!(resident_bytes(std::process::id()).unwrap() > 0);
        assert!(usage(std::process::id()).is_ok());
        assert!(usage(u32::MAX).is_err());
    }
}
