//! `hairstreak worker`: serves a service by a command, until a signal.

use std::thread;

use hairstreak::service::{MemoryStore, Worker, WorkerControl, WorkerError, WorkerOptions};
use hairstreak_process::{Children, ServiceCommand, raise_descriptor_limit};
use signal_hook::iterator::Signals;

use super::arguments::WorkerArguments;
use crate::failure::Failure;
use crate::output::note;
use crate::signals;

/// Returns when the worker has left after a signal.
pub fn worker(arguments: &WorkerArguments) -> Result<(), Failure> {
    // None waits behind a command that takes long while another worker has nothing to do.
    let capacity = arguments.capacity.unwrap_or(arguments.concurrency);
    let options = WorkerOptions {
        credentials: arguments.credentials.credentials()?,
        concurrency: arguments.concurrency as usize,
        capacity: Some(u32::try_from(capacity).unwrap_or(u32::MAX)),
        ..WorkerOptions::default()
    };
    let signals = Signals::new(signals::ending()).map_err(Failure::failed)?;
    let brokers = arguments.brokers.list();
    let worker = Worker::with_options(&brokers, &arguments.service, options, MemoryStore::new());
    let worker = worker.map_err(|error| match error {
        WorkerError::Open(_) | WorkerError::System(_) => Failure::failed(error),
        _ => Failure::usage(error),
    })?;
    let children = Children::default();
    signals::share_with(children.groups()).map_err(Failure::failed)?;
    raise_descriptor_limit();
    leave_on_signals(signals, worker.control(), children.clone()).map_err(Failure::failed)?;
    let command = ServiceCommand::new(arguments.command.clone(), children);
    let report = worker.run(|request| Ok(command.answer(request)?)).map_err(Failure::failed)?;
    let failed =
        if report.failed == 0 { String::new() } else { format!(", {} of them failed", report.failed) };
    note(&format!("hairstreak: {} requests done{failed}\n", report.handled));
    Ok(())
}

/// On the first signal the worker leaves, on the second it ends at once.
fn leave_on_signals(mut signals: Signals, control: WorkerControl, children: Children) -> std::io::Result<()> {
    let watch = move || {
        let mut is_first = true;
        for signal in signals.forever() {
            if !std::mem::replace(&mut is_first, false) {
                children.kill_all();
                std::process::exit(128 + signal);
            }
            control.leave();
        }
    };
    thread::Builder::new().name("signals".into()).spawn(watch).map(drop)
}
