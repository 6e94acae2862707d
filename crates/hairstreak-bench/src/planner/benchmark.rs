//! `run`: calibrates, predicts, runs, compares.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use hairstreak::calibration::{Calibration, calibrate};
use hairstreak::topology::{self, Input, RunOptions, Topology};
use hairstreak_model::{Load, Simulation, simulate};

use super::error::PlannerError;
use super::others::{Others, QUIET_CORES, wait_for_quiet};
use super::report::{PlannerReport, PlannerRow, PlannerRun};
use super::topologies::topologies;
use crate::arguments::PlannerSettings;
use crate::machine::Machine;
use crate::statistics::mean;

/// Measurements of each figure of the machine.
const CALIBRATION_REPEATS: usize = 7;
/// Simulations of a topology, each with a seed of its own.
const SEEDS: u64 = 5;

/// Predicts each topology, prints that, runs each so often as `settings` say, in turns, and prints how far off the predictions were.
///
/// # Errors
///
/// A topology cannot be predicted or run, or a prediction is further off than `settings.tolerance`.
pub fn run(settings: &PlannerSettings) -> Result<(), PlannerError> {
    let topologies = topologies(&settings.names)?;
    let program = program()?;
    let patience = Duration::from_secs(settings.patience);
    wait_for_quiet(QUIET_CORES, patience);
    let machine = calibrate(CALIBRATION_REPEATS)?;
    let mut rows = Vec::with_capacity(topologies.len());
    for (name, topology) in &topologies {
        let (predicted_per_s, predicted_cpu_ms) = predict(name, topology, &machine)?;
        rows.push(PlannerRow { name, predicted_per_s, predicted_cpu_ms, runs: Vec::new() });
    }
    let mut report = PlannerReport { machine: Machine::here(), calibration: machine.to_toml(), rows };
    if !settings.json {
        write!(io::stdout(), "{}", report.predictions())?;
    }
    for _ in 0..settings.repeats {
        for ((name, topology), row) in topologies.iter().zip(&mut report.rows) {
            let options = RunOptions { stage_executable: Some(program.clone()), ..RunOptions::default() };
            wait_for_quiet(QUIET_CORES, patience);
            let before = Others::now();
            let ran = topology::run(topology, &options, &mut ());
            let ran = ran.map_err(|source| PlannerError::Run { name, source: Box::new(source) })?;
            let (others, own_s) = (before.cores_since(), before.own_s_since());
            let cpu_ms = own_s.map(|own_s| own_s * 1e3 / ran.messages as f64);
            row.runs.push(PlannerRun { per_s: ran.throughput_per_s, others, cpu_ms });
        }
    }
    if settings.json {
        writeln!(io::stdout(), "{}", report.json())?;
    } else {
        write!(io::stdout(), "{report}")?;
    }
    let allowed = settings.tolerance / 100.0;
    let is_off = |row: &&PlannerRow| row.error().is_none_or(|error| error.abs() > allowed);
    match report.rows.iter().filter(is_off).count() {
        0 => Ok(()),
        count => Err(PlannerError::Off { count, of: report.rows.len(), percent: settings.tolerance }),
    }
}

/// Messages a second, and milliseconds on cores for each message: the means over some seeds.
fn predict(
    name: &'static str,
    topology: &Topology,
    machine: &Calibration,
) -> Result<(f64, f64), PlannerError> {
    let wrong = |source| PlannerError::Plan { name, source };
    let pipeline = topology.planned_pipeline().map_err(wrong)?;
    let pipeline = machine.apply(pipeline).map_err(|error| wrong(error.into()))?;
    let messages = match topology.input {
        Some(Input::Generated { messages, .. }) => messages,
        _ => 0,
    };
    let load = Load { size: topology.message_size().unwrap_or(0), ..Load::of(messages) };
    let simulations: Vec<_> = (1..=SEEDS).map(|seed| simulate(&pipeline, &Load { seed, ..load })).collect();
    let cpu_ms =
        |simulation: &Simulation| simulation.cores_busy * simulation.makespan_s * 1e3 / messages as f64;
    let per_s = mean(simulations.iter().filter_map(|simulation| simulation.predicted_per_s));
    Ok((per_s.unwrap_or(0.0), mean(simulations.iter().map(cpu_ms)).unwrap_or(0.0)))
}

/// The program that runs stages lies beside this one.
fn program() -> Result<PathBuf, PlannerError> {
    let own = std::env::current_exe().map_err(PlannerError::Program)?;
    let program = own.with_file_name("hairstreak");
    std::fs::metadata(&program).map_err(PlannerError::Program)?;
    Ok(program)
}
