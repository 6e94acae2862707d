//! A broker under test, as the benchmark sees it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::error::{ServerError, failed};
use super::process_use::ProcessUse;
use super::task::{ServerAnswer, ServerKind, ServerTask};

/// The subcommand of a keeper.
const VERB: &str = "broker-server";

/// A broker that answers. Dropping it ends it and waits until everything of it is gone.
#[derive(Debug)]
pub struct Running {
    /// Which.
    pub kind: ServerKind,
    /// Where it speaks AMQP.
    pub address: SocketAddr,
    /// The address of HTTP, if the broker has HTTP and the address is known.
    pub http: Option<SocketAddr>,
    /// Its process, if it is known.
    pub process_id: Option<u32>,
    /// The directory of RabbitMQ's data.
    pub data: Option<PathBuf>,
    keeper: Option<Child>,
}

impl Running {
    /// Starts it and waits until it answers.
    pub fn start(task: &ServerTask) -> Result<Running, ServerError> {
        let kind = task.kind;
        let program = std::env::current_exe().map_err(failed("this program"))?;
        let mut command = Command::new(program);
        command.arg(VERB).arg(serde_json::to_string(task)?);
        // Ctrl-C is for the benchmark; the keeper ends with its standard input, and has to remove things first.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = command.spawn().map_err(failed("a keeper"))?;
        let mut line = String::new();
        if let Some(output) = keeper.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(failed("a keeper"))?;
        }
        match serde_json::from_str::<ServerAnswer>(&line) {
            Ok(ServerAnswer { address, http, process_id, data }) => {
                Ok(Running { kind, address, http, process_id: Some(process_id), data, keeper: Some(keeper) })
            }
            Err(_) => {
                end(keeper);
                Err(ServerError::Keeper(kind.text()))
            }
        }
    }

    /// A node that somebody else has started.
    pub fn elsewhere(address: SocketAddr, process_id: Option<u32>) -> Running {
        Running { kind: ServerKind::Node, address, http: None, process_id, data: None, keeper: None }
    }

    /// The use so far, if the process is known.
    pub fn usage(&self) -> Result<Option<ProcessUse>, ServerError> {
        self.process_id.map(ProcessUse::of).transpose().map_err(failed("the process of a broker"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            end(keeper);
        }
    }
}

/// Lets a keeper end its broker.
fn end(mut keeper: Child) {
    drop(keeper.stdin.take());
    // It fails only if the keeper has been reaped already.
    let _ = keeper.wait();
}
