//! `hairstreak run`: runs a topology, shows its progress, prints the measurements.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hairstreak::topology::{self, Output, RunError, RunOptions, RunReport, Stream, Topology};
use serde::Serialize;
use signal_hook::flag;

use crate::arguments::RunArguments;
use crate::failure::Failure;
use crate::live::Live;
use crate::numbers::{grouped, messages, rate, time};
use crate::output::{row, table};
use crate::{output, signals};

/// The JSON object.
#[derive(Serialize)]
struct RunOutput<'a> {
    topology: String,
    /// `true` if all messages have a result.
    complete: bool,
    #[serde(flatten)]
    report: &'a RunReport,
}

pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let topology = Topology::load(&arguments.file).map_err(Failure::usage)?;
    let to_stdout = matches!(topology.output, Output::Write { to: Stream::Standard, .. });
    if to_stdout && arguments.json {
        return Err(Failure::usage("--json prints on standard output, and so does [output] of the topology"));
    }
    let options =
        RunOptions { connect_timeout: arguments.connect_timeout, adopts: true, ..RunOptions::default() };
    let signal = stop_on_signals(&options.stop).map_err(Failure::failed)?;
    signals::share_with(&options.groups).map_err(Failure::failed)?;
    let mut live = Live::new(arguments.progress, arguments.verbose);
    let done = topology::run(&topology, &options, &mut live);
    live.finish();
    let show = |report: &RunReport, complete: bool| match (arguments.json, to_stdout) {
        (true, _) => {
            let topology = arguments.file.display().to_string();
            let output = RunOutput { topology, complete, report };
            let text = serde_json::to_string_pretty(&output).map_err(Failure::failed)?;
            output::print(&format!("{text}\n"))
        }
        (false, true) => {
            output::note(&describe(report, complete));
            Ok(())
        }
        (false, false) => output::print(&describe(report, complete)),
    };
    match done {
        Ok(report) => show(&report, true),
        Err(RunError::Stopped(report)) => {
            show(&report, false)?;
            let signal = signal.load(Ordering::Relaxed) as u8;
            let name = signals::name(i32::from(signal));
            Err(Failure::stopped(signal, format!("stopped by {name} after {}", messages(report.messages))))
        }
        Err(error @ (RunError::NoInput | RunError::NoWork { .. } | RunError::OutputIsInput { .. })) => {
            Err(Failure::usage(format!("{}: {error}", arguments.file.display())))
        }
        Err(RunError::Output { source, .. }) if to_stdout && source.kind() == ErrorKind::BrokenPipe => {
            Err(Failure::unread())
        }
        Err(error) => Err(Failure::failed(error)),
    }
}

/// Sets `stop` on a signal that ends a command. Returns a cell that gets the number of the signal. A second signal ends
/// this process at once: the processes of the run notice that it is gone.
fn stop_on_signals(stop: &Arc<AtomicBool>) -> std::io::Result<Arc<AtomicUsize>> {
    let which = Arc::new(AtomicUsize::new(0));
    for signal in signals::ending() {
        flag::register_usize(signal, which.clone(), signal as usize)?;
        flag::register_conditional_shutdown(signal, 128 + signal, stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    if which.load(Ordering::SeqCst) != 0 {
        // The signal came before `stop` was registered, and has only set the number.
        stop.store(true, Ordering::SeqCst);
    }
    Ok(which)
}

fn describe(report: &RunReport, complete: bool) -> String {
    if report.messages == 0 {
        // The first and the last message have the same time: there are no rates.
        return if complete { "no messages, for the input is empty\n".into() } else { String::new() };
    }
    let mut rows = vec![row(["stage", "instances", "processed", "messages/s", "planned", ""])];
    for stage in &report.stages {
        let slowest = report.slowest.as_ref() == Some(&stage.name);
        rows.push(vec![
            stage.name.clone(),
            stage.instances.to_string(),
            grouped(stage.processed),
            rate(Some(stage.rate_per_s)),
            stage.planned_per_s.map_or("-".into(), |per_s| rate(Some(per_s))),
            if slowest { "slowest".into() } else { String::new() },
        ]);
    }
    let predicted = match (report.predicted_per_s, report.steady_per_s) {
        (Some(predicted), Some(steady)) => {
            format!("predicted {} messages/s, steadily {}", rate(Some(predicted)), rate(Some(steady)))
        }
        _ => "no prediction, for the time of a stage is not known".to_owned(),
    };
    format!(
        "{}\n{} in {}: {} messages/s\n{predicted}\n",
        table(&rows),
        messages(report.messages),
        time(report.elapsed_s),
        rate(Some(report.throughput_per_s)),
    )
}
