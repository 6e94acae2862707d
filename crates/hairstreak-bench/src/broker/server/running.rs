//! `Running`: a broker under test, as the benchmark sees it.
//!
//! A keeper has its task, in JSON, as an argument. It answers with a [`Running`], a line of JSON, when the broker can be used, also
//! after each restart.
//! Processor time, context switches and memory of the broker's process are read from `/proc` (proc(5)).

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::frame::cores::CoreRange;
use crate::frame::usage::{Usage, processor_times, status_bytes};

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

/// The derived files of our node that are destroyed between a kill and the next start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// None.
    Nothing,
    /// The footers of segments.
    Footers,
    /// The footers and all checkpoints.
    Index,
}

impl Loss {
    /// The words behind the name of a start in reports.
    pub fn text(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Footers => ", without footers",
            Self::Index => ", without footers and checkpoints",
        }
    }
}

/// How a broker keeps messages on disk.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Durable {
    /// Milliseconds that each sync of our node and of the limit takes longer.
    pub sync_delay_ms: u64,
}

impl Durable {
    /// The time that each sync takes longer.
    pub fn sync_delay(self) -> Duration {
        Duration::from_millis(self.sync_delay_ms)
    }
}

/// A start of a broker that was killed. None of its files was in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restart {
    /// Time until the broker opened a channel, in seconds.
    pub start_s: f64,
    /// Bytes of the broker's files.
    pub data_bytes: u64,
    /// Time in which the benchmark read them, in seconds.
    pub read_s: f64,
    /// Footers and checkpoints that were destroyed before.
    pub lost_count: u64,
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
    /// Bytes at which the broker stops publishers; `None`: its own choice.
    pub memory_bytes: Option<u64>,
    /// Our node and the limit keep messages on disk; `None`: in memory. RabbitMQ has a disk always.
    pub durable: Option<Durable>,
}

/// A broker that can be used: the answer of its keeper. A drop ends the broker and waits until everything of the broker is gone.
#[derive(Debug, Serialize, Deserialize)]
pub struct Running {
    /// The broker.
    pub kind: ServerKind,
    /// The address of AMQP.
    pub address: SocketAddr,
    /// The address of HTTP, if the broker has HTTP and the address is known.
    pub http: Option<SocketAddr>,
    /// The broker's process, if it is known.
    pub process_id: Option<u32>,
    /// The directory of the broker's data, if the broker has one.
    pub data: Option<PathBuf>,
    /// The last restart.
    pub restart: Option<Restart>,
    #[serde(skip)]
    keeper: Option<Keeper>,
}

impl Running {
    /// Starts a broker and waits until the broker answers.
    pub fn start(task: &ServerTask) -> Result<Running> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["worker", "broker-server", &serde_json::to_string(task)?]);
        // Ctrl-C is for the benchmark; the keeper ends with its standard input, and has to remove things first.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("a keeper")?;
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        let mut keeper = Keeper { child, input, output };
        let running = keeper.answer(task.kind)?;
        Ok(Running { keeper: Some(keeper), ..running })
    }

    /// Kills the broker, starts it again after a loss and waits until the broker answers. Returns its times.
    pub fn restart(&mut self, loss: Loss) -> Result<Restart> {
        let keeper = self.keeper.as_mut().context("the broker was not started by this benchmark")?;
        let input = keeper.input.as_mut().context("a keeper")?;
        writeln!(input, "{}", serde_json::to_string(&loss)?).context("a keeper")?;
        let Running { process_id, restart, .. } = keeper.answer(self.kind)?;
        (self.process_id, self.restart) = (process_id, restart);
        restart.context("a broker that was not started again")
    }

    /// A broker that speaks AMQP at `address`.
    pub fn at(kind: ServerKind, address: SocketAddr, process_id: Option<u32>) -> Running {
        Running { kind, address, http: None, process_id, data: None, restart: None, keeper: None }
    }

    /// Returns the consumption so far, if the process is known.
    pub fn usage(&self) -> Result<Option<Usage>> {
        self.process_id.map(usage).transpose().context("the process of a broker")
    }

    /// Returns a figure of `/proc/PID/status` in bytes, if the process is known: `VmRSS`, or its peak `VmHWM`.
    pub fn memory(&self, figure: &str) -> Result<Option<u64>> {
        self.process_id.map(|id| status_bytes(id, figure)).transpose().context("the process of a broker")
    }
}

/// The process of a keeper. Dropping it lets the keeper end its broker.
#[derive(Debug)]
struct Keeper {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Keeper {
    /// Waits for the next answer.
    fn answer(&mut self, kind: ServerKind) -> Result<Running> {
        let mut line = String::new();
        if let Some(output) = &mut self.output {
            output.read_line(&mut line).context("a keeper")?;
        }
        // The keeper has written its reason to standard error.
        let running: Option<Running> = serde_json::from_str(&line).ok();
        running.with_context(|| format!("{} could not be started", kind.text()))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.input.take());
        // It fails only if the keeper has been reaped already.
        let _ = self.child.wait();
    }
}

/// Returns the consumption of a process since its start. A thread that has ended takes its switches along.
fn usage(process_id: u32) -> Result<Usage> {
    let [user_s, system_s] = processor_times(process_id, false)?;
    let mut voluntary_switches = 0;
    for thread in fs::read_dir(format!("/proc/{process_id}/task"))? {
        // A thread may end at any time.
        let status = fs::read_to_string(thread?.path().join("status")).unwrap_or_default();
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        voluntary_switches += count.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or_default();
    }
    Ok(Usage { cpu_s: user_s + system_s, system_s, voluntary_switches, allocations: 0 })
}

#[cfg(test)]
mod tests {
    use super::usage;

    #[test]
    fn this_process_has_a_consumption_and_a_process_that_is_not_there_has_none() {
        assert!(usage(std::process::id()).is_ok());
        assert!(usage(u32::MAX).is_err());
    }
}
