//! The butterfly: the same two stages as processes, wired by a topology.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use hairstreak::topology::{
    CommandLine, Framing, Input, Machine, Output, RunOptions, Stage, Stream, Topology, Work,
    run as run_topology,
};

use crate::failure::Failure;
use crate::job::Job;

/// Where the butterfly's lines are.
pub const RESULTS: &str = "butterfly";

/// Runs the job with so many instances of each stage, and says how long it took.
pub fn run(job: &Job, instances: u32, stop: Arc<AtomicBool>) -> Result<Duration, Failure> {
    let executable = std::env::current_exe()?
        .into_os_string()
        .into_string()
        .map_err(|_| "the program's path is no UTF-8")?;
    let stage = |name: &str| Stage {
        name: name.to_owned(),
        instances,
        work: Some(Work::Program(CommandLine::Arguments(vec![executable.clone(), name.to_owned()]))),
        times: None,
        distribution: Default::default(),
    };
    let topology = Topology {
        stages: vec![stage("extract"), stage("reduce")],
        input: Some(Input::Files { directory: job.chunk_folder(), extensions: Vec::new() }),
        output: Output::Write { to: Stream::File(job.result_file(RESULTS)), framing: Framing::Lines },
        machine: Machine::default(),
        directory: job.chunk_folder(),
    };
    let report = run_topology(&topology, &RunOptions { stop, ..RunOptions::default() }, &mut ())?;
    Ok(Duration::from_secs_f64(report.elapsed_s))
}
