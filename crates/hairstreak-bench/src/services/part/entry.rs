//! What a part does with its task, and what every part of every scheme needs.

use std::convert::Infallible;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use super::error::PartError;
use super::{majordomo, our_proxy, our_services, zmq_proxy};
use crate::process;
use crate::services::task::{Answer, Measurement, Role, Scheme, Task};
use crate::usage::Usage;

/// Runs as a part: does what `task`, in JSON, says and prints the answers.
pub fn take_part(task: &str) -> Result<(), PartError> {
    let task: Task = serde_json::from_str(task)?;
    let orders = process::orders();
    match task.scheme {
        Scheme::Proxy => our_proxy::take_part(&task, &orders),
        Scheme::LibzmqProxy => zmq_proxy::take_part(&task, &orders),
        Scheme::LibzmqMajordomo => majordomo::take_part(task, &orders),
        Scheme::Services => our_services::take_part(&task, &orders),
        Scheme::ServicesOfPlainWorkers | Scheme::ServicesOfStockedPlainWorkers => match task.role {
            Role::Worker(_) => majordomo::take_part(task, &orders),
            _ => our_services::take_part(&task, &orders),
        },
    }
}

/// Says what was measured and waits for the order to finish; then nobody needs the threads of this process any more, which
/// do not end by themselves.
pub(super) fn end(measurement: Measurement, orders: &mpsc::Receiver<()>) -> Result<(), PartError> {
    Answer::Measured(measurement).print()?;
    // The thread that passes orders on ends after the first one.
    let _ = orders.recv();
    std::process::exit(0)
}

/// Has a thread do what does not end by itself until the order to finish comes, and measures the process then.
pub(super) fn serve(
    orders: &mpsc::Receiver<()>,
    work: impl FnOnce() -> Result<Infallible, PartError> + Send + 'static,
) -> Result<(), PartError> {
    let start = Instant::now();
    spawn(work);
    let _ = orders.recv();
    let measurement = Measurement { elapsed_s: start.elapsed().as_secs_f64(), usage: Usage::now()? };
    Answer::Measured(measurement).print()?;
    std::process::exit(0)
}

/// A thread on which others wait: a failure ends the process.
pub(super) fn spawn(work: impl FnOnce() -> Result<Infallible, PartError> + Send + 'static) {
    thread::spawn(move || {
        let Err(error) = work();
        eprintln!("hairstreak-bench: {error}");
        std::process::exit(1)
    });
}
