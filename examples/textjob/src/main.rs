//! The program of the real job: `textjob [MIB]` runs it; `textjob extract` and `textjob reduce` are its stages.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use hairstreak::topology::stage as topology_stage;
use hairstreak_model::{Load, simulate};
use textjob::calibration::Calibration;
use textjob::corpus::CHUNK_SIZE;
use textjob::failure::Failure;
use textjob::job::Job;
use textjob::outcome::Outcome;
use textjob::{butterfly, extract, monolith, reduce, stage};

/// Text to work on when nothing else is said, in MiB.
const MIB_DEFAULT: usize = 64;
/// Copies of each stage are as many as there are cores, within reason: the hub between them is one process.
const INSTANCES_MAX: usize = 4;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    let outcome = match first.as_ref().map(|first| first.to_string_lossy()).as_deref() {
        Some("stage") => return topology_stage::main(arguments.collect::<Vec<OsString>>()),
        Some("extract") => stage::serve(extract::extract).map(|()| true),
        Some("reduce") => stage::serve(reduce::reduce).map(|()| true),
        Some(mib) => match mib.parse() {
            Ok(mib) if mib > 0 => run(mib),
            _ => Err("usage: textjob [MIB], the text to work on".into()),
        },
        None => run(MIB_DEFAULT),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // There is nobody else to tell.
            let _ = writeln!(io::stderr(), "textjob: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prepares, calibrates, predicts, runs both ways, and compares. Whether the results are identical.
fn run(mib: usize) -> Result<bool, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, stop.clone())?;
    signal_hook::flag::register(signal_hook::consts::SIGTERM, stop.clone())?;
    let cores = thread::available_parallelism()?.get();
    let instances = cores.min(INSTANCES_MAX) as u32;

    let mut output = io::stdout();
    writeln!(output, "Which parts of this machine's text files are near-copies of one another?\n")?;
    let job = Job::prepare(mib.saturating_mul(1 << 20))?;
    let (count, spare) = (job.chunk_count, job.calibration.len());
    writeln!(
        output,
        "input: {count} chunks of {} KiB, and {spare} others for calibration; {cores} cores",
        CHUNK_SIZE / 1024
    )?;

    let calibration = Calibration::measure(&job.calibration, cores)?;
    writeln!(output, "calibration: {calibration}")?;
    let prediction = simulate(&calibration.pipeline(instances, cores as u32)?, &Load::of(count as u64));
    let predicted_per_s = prediction.predicted_per_s.ok_or("the stages take no time at all")?;
    writeln!(output, "prediction: {predicted_per_s:.1} chunks/s with {instances} copies of each stage\n")?;

    writeln!(
        output,
        "running the butterfly: feed -> {instances} x extract -> {instances} x reduce -> collect ..."
    )?;
    let butterfly = butterfly::run(&job, instances, stop.clone())?;
    writeln!(output, "running the monolith ...\n")?;
    let monolith = monolith::run(&job, &stop)?;
    let outcome = Outcome::read(&job, predicted_per_s, monolith, butterfly)?;
    writeln!(output, "{outcome}")?;
    Ok(outcome.is_identical())
}
