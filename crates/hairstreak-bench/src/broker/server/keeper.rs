//! The keeper's process: starts a broker, says where it answers, and ends it when its own standard input ends.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread;

use super::error::{ServerError, failed};
use super::node::Node;
use super::rabbitmq::RabbitMq;
use super::task::{ServerAnswer, ServerKind, ServerTask};
use crate::broker::limit;
use crate::cores;

/// Keeps the broker that `task`, in JSON, says.
pub fn keep(task: &str) -> Result<(), ServerError> {
    let task: ServerTask = serde_json::from_str(task)?;
    if let Some(range) = task.cores {
        cores::keep_to_range(range);
    }
    match task.kind {
        ServerKind::Node => {
            let node = Node::start(task.loop_count)?;
            answer_and_wait(node.address, node.process_id(), None)
        }
        ServerKind::RabbitMq => {
            let rabbitmq = RabbitMq::start(&task)?;
            answer_and_wait(rabbitmq.address, rabbitmq.process_id(), Some(rabbitmq.data()))
        }
        ServerKind::Limit => {
            let listener = TcpListener::bind("127.0.0.1:0").map_err(failed("the limit"))?;
            let address = listener.local_addr().map_err(failed("the limit"))?;
            thread::spawn(move || limit::serve(&listener));
            answer_and_wait(address, std::process::id(), None)
        }
    }
}

/// Returns when the benchmark is done with the broker, or gone.
fn answer_and_wait(address: SocketAddr, process_id: u32, data: Option<PathBuf>) -> Result<(), ServerError> {
    let answer = serde_json::to_string(&ServerAnswer { address, process_id, data })?;
    let mut output = io::stdout().lock();
    writeln!(output, "{answer}").and_then(|()| output.flush()).map_err(failed("the benchmark"))?;
    // However it ends: there is nobody left to keep the broker for.
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    Ok(())
}
