//! A client process: it reads its task, works, and answers.

use super::super::task::{Role, Task};
use super::error::ClientError;
use super::{consumer, producer, round_trip};
use crate::{cores, process};

/// Runs as a client: does what `task`, in JSON, says and prints the answers.
pub fn take_part(task: &str) -> Result<(), ClientError> {
    let task: Task = serde_json::from_str(task)?;
    let orders = process::orders();
    if let Some(range) = task.cores {
        cores::keep_to_range(range);
    }
    match task.role {
        Role::Producer => producer::run(&task, &orders),
        Role::Consumer => consumer::run(&task, &orders),
        Role::RoundTrip => round_trip::run(&task, &orders),
    }
}
