//! `hairstreak map-worker`: runs records of a map on another host.

use std::sync::Arc;
use std::thread;

use hairstreak::pipeline::{Leaver, PipelineOptions, Worker};
use hairstreak_process::raise_descriptor_limit;
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::map::{CommandPool, MapWorkerArguments, Stop, meeting};
use crate::map_command::{TROUBLE, failure};
use crate::signals;

/// Returns when the work is done, or when the worker has left after a signal.
pub fn map_worker(arguments: &MapWorkerArguments) -> Result<(), Failure> {
    let meeting = meeting(&arguments.endpoint).map_err(Failure::usage)?;
    let options = arguments.pool();
    let stop = Stop::default();
    let signals = Signals::new(signals::ending()).map_err(trouble)?;
    signals::share_with(stop.children().groups()).map_err(trouble)?;
    raise_descriptor_limit();
    let pipeline = PipelineOptions {
        window: options.window.into(),
        ahead: Some(options.window),
        lost_after: arguments.patience,
        ..PipelineOptions::default()
    };
    let worker = Worker::connect(&meeting.tasks, &meeting.results, &pipeline).map_err(trouble)?;
    leave_on_signals(signals, worker.leaver(), stop.clone()).map_err(trouble)?;
    let mut pool = CommandPool::start(options, worker, stop.children().clone(), Arc::default())
        .map_err(|error| failure(&error))?;
    pool.work().unwrap_or_else(|error| stop.end(&failure(&error)));
    Ok(())
}

/// On the first signal the worker leaves, on the second it ends at once.
fn leave_on_signals(mut signals: Signals, leaver: Leaver, stop: Stop) -> std::io::Result<()> {
    let work = move || {
        let mut is_first = true;
        for signal in signals.forever() {
            if !std::mem::replace(&mut is_first, false) {
                stop.end_at_once(128 + signal as u8);
            }
            leaver.leave();
        }
    };
    thread::Builder::new().name("signals".into()).spawn(work).map(drop)
}

fn trouble(error: impl std::fmt::Display) -> Failure {
    Failure::with_status(TROUBLE, error)
}
