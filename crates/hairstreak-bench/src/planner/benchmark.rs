//! The run of the study: calibrates, predicts, runs, compares.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use hairstreak::calibration::{Calibration, calibrate};
use hairstreak::topology::{self, Input, RunOptions, Topology};
use hairstreak_model::{Load, Simulation, simulate};

use super::others::{Others, QUIET_CORES, wait_for_quiet};
use super::topologies::topologies;
use crate::frame::{Report, Row, Setting, Spread, Table, Value, take_turns};

/// The options of `hairstreak-bench plan`.
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// Print the report as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Only the topology of this name [default: all ten]
    #[arg(long = "topology", value_delimiter = ',', value_name = "NAME")]
    pub names: Vec<String>,
    /// Runs of each topology
    #[arg(long = "repeat", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: u32,
    /// Before each run, wait so many seconds at most until others leave the cores alone
    #[arg(long, default_value_t = 0, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub patience: u64,
    /// Fail if a prediction is further off than so many percent
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    pub tolerance: f64,
}

/// Measurements of each figure of the machine.
const CALIBRATION_REPEATS: usize = 7;
/// Simulations of a topology, each with its own seed.
const SEEDS: u64 = 5;
const LEGEND: &str = "\
n: the runs during which others kept few cores busy, or all runs if there are none; others: cores in the quietest run; \
cpu ms: time on cores for each message, the start of the processes included.";

/// A topology, its prediction, and its runs.
struct Case {
    name: &'static str,
    topology: Topology,
    /// Messages a second.
    predicted_per_s: f64,
    /// Milliseconds on cores for each message, of all processes together.
    predicted_cpu_ms: f64,
}

/// One run of a topology.
#[derive(Debug)]
struct Run {
    /// Messages a second.
    per_s: f64,
    /// Cores that others kept busy meanwhile.
    others: Option<f64>,
    /// Milliseconds on cores for each message.
    cpu_ms: Option<f64>,
}

/// Predicts each topology, prints the predictions, runs the topologies in turns, and compares.
///
/// Errors: a topology cannot be predicted or run, or a prediction is further off than `settings.tolerance`.
pub fn run(settings: &Settings) -> Result<()> {
    let topologies = topologies(&settings.names)?;
    let program = std::env::current_exe()?.with_file_name("hairstreak");
    std::fs::metadata(&program)
        .context("cannot find the program hairstreak; cargo build --release -p hairstreak-cli builds it")?;
    let patience = Duration::from_secs(settings.patience);
    wait_for_quiet(QUIET_CORES, patience);
    let machine = calibrate(CALIBRATION_REPEATS).context("cannot calibrate")?;
    let mut cases = Vec::with_capacity(topologies.len());
    for (name, topology) in topologies {
        let (predicted_per_s, predicted_cpu_ms) = predict(&topology, &machine).context(name)?;
        eprintln!("predicted: {name} {predicted_per_s:.1} messages/s");
        cases.push(Case { name, topology, predicted_per_s, predicted_cpu_ms });
    }
    let samples = take_turns("plan", settings.repeats, &cases, |case| {
        let options = RunOptions { stage_executable: Some(program.clone()), ..RunOptions::default() };
        wait_for_quiet(QUIET_CORES, patience);
        let before = Others::now();
        let ran = topology::run(&case.topology, &options, &mut ()).context(case.name)?;
        let (others, own_s) = (before.cores_since(), before.own_s_since());
        let cpu_ms = own_s.map(|own_s| own_s * 1e3 / ran.messages as f64);
        Ok(Run { per_s: ran.throughput_per_s, others, cpu_ms })
    })?;
    let allowed = settings.tolerance / 100.0;
    let runs = || cases.iter().zip(&samples);
    let errors = || runs().map(|(case, runs)| case.error(runs).map_or(f64::INFINITY, f64::abs));
    let worst = errors().fold(0.0, f64::max);
    let off_count = errors().filter(|&error| error > allowed).count();
    let rows = runs().filter_map(|(case, runs)| case.row(runs)).collect();
    let calibration = format!("calibration: {}", machine.to_toml().trim().replace('\n', "; "));
    let report = Report {
        study: "plan",
        setting: Setting::new(Vec::new(), vec![calibration]),
        about: format!("predictions beside {} runs", settings.repeats),
        tables: vec![Table { key: "rows", title: "", rows, legend: LEGEND }],
        conclusion: vec![format!("The worst prediction is {:.1}% off.", worst * 100.0)],
        charts: Vec::new(),
    };
    report.print(settings.json)?;
    let (count, percent) = (cases.len(), settings.tolerance);
    ensure!(
        off_count == 0,
        "{off_count} of {count} predictions are more than {percent}% off the median of their runs"
    );
    Ok(())
}

impl std::fmt::Display for Case {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name)
    }
}

impl Case {
    /// The prediction against the median of the runs: 0.05 is 5% too many.
    fn error(&self, runs: &[Run]) -> Option<f64> {
        Some(self.predicted_per_s / Spread::of(counted(runs))?.median - 1.0)
    }

    fn row(&self, runs: &[Run]) -> Option<Row> {
        let percent = |error: f64| format!("{:+.1}%", error * 100.0);
        let cpu_ms = Spread::of(runs.iter().filter_map(|run| run.cpu_ms)).map(|spread| spread.median);
        let others = runs.iter().filter_map(|run| run.others).min_by(f64::total_cmp);
        let cpu_error = cpu_ms.map(|cpu_ms| self.predicted_cpu_ms / cpu_ms - 1.0);
        let per_s = |per_s: f64| format!("{per_s:.1}");
        let ms = |ms: f64| format!("{ms:.3}");
        let row = Row::default()
            .show("name", "topology", Value::text(self.name))
            .show("predicted_per_s", "predicted/s", Value::figure(self.predicted_per_s, per_s))
            .show("per_s", "messages/s [min-max]", Value::spread(Spread::of(counted(runs))?, per_s))
            .show("n", "n", Value::count(counted(runs).len()))
            .show("others", "others", Value::figure(others, |others| format!("{others:.2}")))
            .show("error", "off", Value::figure(self.error(runs)?, percent))
            .show("predicted_cpu_ms", "predicted cpu ms", Value::figure(self.predicted_cpu_ms, ms))
            .show("cpu_ms", "cpu ms", Value::figure(cpu_ms, ms))
            .show("cpu_error", "off", Value::figure(cpu_error, percent));
        Some(row)
    }
}

/// Returns the rates that count: of the runs that had the machine to themselves, or of all runs if no run had.
fn counted(runs: &[Run]) -> Vec<f64> {
    let is_quiet = |run: &&Run| run.others.is_none_or(|others| others <= QUIET_CORES);
    let quiet: Vec<f64> = runs.iter().filter(is_quiet).map(|run| run.per_s).collect();
    if quiet.is_empty() { runs.iter().map(|run| run.per_s).collect() } else { quiet }
}

/// Returns messages a second, and milliseconds on cores for each message.
fn predict(topology: &Topology, machine: &Calibration) -> Result<(f64, f64)> {
    let pipeline = machine.apply(topology.planned_pipeline()?)?;
    let messages = match topology.input {
        Some(Input::Generated { messages, .. }) => messages,
        _ => 0,
    };
    let load = Load { size: topology.message_size().unwrap_or(0), ..Load::of(messages) };
    let simulations: Vec<_> = (1..=SEEDS).map(|seed| simulate(&pipeline, &Load { seed, ..load })).collect();
    let cpu_ms =
        |simulation: &Simulation| simulation.cores_busy * simulation.makespan_s * 1e3 / messages as f64;
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let per_s = simulations.iter().filter_map(|simulation| simulation.predicted_per_s).collect();
    Ok((mean(per_s), mean(simulations.iter().map(cpu_ms).collect())))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Case, Run, Topology, counted};

    #[test]
    fn runs_beside_others_count_only_if_there_are_no_quiet_ones() {
        let runs = |runs: &[(f64, f64)]| -> Vec<Run> {
            let run = |&(per_s, others): &(f64, f64)| Run { per_s, others: Some(others), cpu_ms: Some(2.0) };
            runs.iter().map(run).collect()
        };
        let quiet = runs(&[(90.0, 0.0), (100.0, 0.01), (10.0, 0.5), (120.0, 0.02)]);
        assert_eq!(counted(&quiet), [90.0, 100.0, 120.0]);
        assert_eq!(counted(&runs(&[(105.0, 1.0)])), [105.0]);
        let topology =
            Topology::parse(include_str!("../../topologies/busy-one.toml"), Path::new("one")).unwrap();
        let case = Case { name: "one", topology, predicted_per_s: 105.0, predicted_cpu_ms: 2.2 };
        assert!((case.error(&quiet).unwrap() - 0.05).abs() < 1e-9);
        assert!(case.row(&quiet).is_some() && case.row(&[]).is_none());
    }
}
