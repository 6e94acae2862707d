//! What a part does with its task, and what every part of every scheme needs.

use std::sync::mpsc;
use std::time::Duration;

use super::error::PartError;
use super::meter::Meter;
use super::{batches, blocks, window};
use crate::pipeline::task::{Answer, Role, Scheme, Task};
use crate::process;
use crate::sample::{LibzmqContext, LibzmqHandle};

/// How long a part waits for the next of what has to come: far longer than anything takes, so that it was lost.
pub(super) const PATIENCE: Duration = Duration::from_secs(40);
/// How often a worker without tasks looks whether there is an order to finish.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Runs as a part: does what `task`, in JSON, says and prints the answers.
pub fn take_part(task: &str) -> Result<(), PartError> {
    let task: Task = serde_json::from_str(task)?;
    let orders = process::orders();
    if task.scheme == Scheme::Window {
        return window::take_part(&task, &orders);
    }
    let context = LibzmqContext::new(&task.libzmq)?;
    match (task.scheme, task.role) {
        (Scheme::Blocks, Role::Ventilator) => blocks::ventilate(&context, &task, &orders),
        (Scheme::Blocks, Role::Sink) => blocks::collect(&context, &task, &orders),
        (Scheme::Blocks, Role::Worker(number)) => blocks::work(&context, &task, number, &orders),
        (_, Role::Ventilator) => batches::ventilate(&context, &task, &orders),
        (_, Role::Sink) => batches::collect(&context, &task, &orders),
        (_, Role::Worker(number)) => batches::work(&context, &task, number, &orders),
    }
}

/// Says what was measured and waits for the order to finish: until then others may need this part.
pub(super) fn end(meter: &Meter, task_count: u64, orders: &mpsc::Receiver<()>) -> Result<(), PartError> {
    Answer::Measured(meter.end(task_count)?).print()?;
    // The thread that passes orders on ends after the first one.
    let _ = orders.recv();
    Ok(())
}

/// Endpoint `index` of the task.
pub(super) fn endpoint(task: &Task, index: usize) -> Result<&str, PartError> {
    task.endpoints.get(index).map(String::as_str).ok_or(PartError::Endpoints(task.endpoints.len()))
}

pub(super) fn check_size(what: &'static str, size: usize, expected: usize) -> Result<(), PartError> {
    if size != expected { Err(PartError::Size { what, size, expected }) } else { Ok(()) }
}

/// The next message of libzmq, its size; `came` of `expected` were there before.
pub(super) fn next(
    socket: &mut LibzmqHandle,
    what: &'static str,
    came: u64,
    expected: u64,
) -> Result<usize, PartError> {
    socket.receive_in_time()?.ok_or(PartError::Lost { what, came, expected })
}
