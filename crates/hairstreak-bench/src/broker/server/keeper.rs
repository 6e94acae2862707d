//! The keeper's process: starts a broker, says where it answers, and ends it when its own standard input ends.

use std::io::{self, Read, Write};
use std::net::TcpListener;
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
            let process_id = node.process_id();
            answer_and_wait(&ServerAnswer {
                address: node.address,
                http: Some(node.http),
                process_id,
                data: None,
            })
        }
        ServerKind::RabbitMq => {
            let rabbitmq = RabbitMq::start(&task)?;
            let (process_id, data) = (rabbitmq.process_id(), Some(rabbitmq.data()));
            answer_and_wait(&ServerAnswer { address: rabbitmq.address, http: None, process_id, data })
        }
        ServerKind::Limit => {
            let listener = TcpListener::bind("127.0.0.1:0").map_err(failed("the limit"))?;
            let address = listener.local_addr().map_err(failed("the limit"))?;
            thread::spawn(move || limit::serve(&listener));
            answer_and_wait(&ServerAnswer { address, http: None, process_id: std::process::id(), data: None })
        }
    }
}

/// Returns when the benchmark is done with the broker, or gone.
fn answer_and_wait(answer: &ServerAnswer) -> Result<(), ServerError> {
    let answer = serde_json::to_string(answer)?;
    let mut output = io::stdout().lock();
    writeln!(output, "{answer}").and_then(|()| output.flush()).map_err(failed("the benchmark"))?;
    // However it ends: there is nobody left to keep the broker for.
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    Ok(())
}
