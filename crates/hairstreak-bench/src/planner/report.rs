//! `PlannerReport`: predictions beside runs.

use std::fmt;

use serde::Serialize;

use super::others::QUIET_CORES;
use crate::machine::{Machine, profile};
use crate::statistics::Spread;

/// Predictions beside runs.
#[derive(Debug, Serialize)]
pub(super) struct PlannerReport {
    pub(super) machine: Machine,
    /// The file that the predictions were made with.
    pub(super) calibration: String,
    pub(super) rows: Vec<PlannerRow>,
}

/// One topology.
#[derive(Debug, Serialize)]
pub(super) struct PlannerRow {
    pub(super) name: &'static str,
    /// Messages a second, before any run.
    pub(super) predicted_per_s: f64,
    /// Milliseconds on cores for each message, of all processes together.
    pub(super) predicted_cpu_ms: f64,
    pub(super) runs: Vec<PlannerRun>,
}

/// One run of a topology.
#[derive(Debug, Serialize)]
pub(super) struct PlannerRun {
    /// Messages a second.
    pub(super) per_s: f64,
    /// Cores that others kept busy meanwhile.
    pub(super) others: Option<f64>,
    /// Milliseconds on cores for each message, what starting the processes takes included.
    pub(super) cpu_ms: Option<f64>,
}

impl PlannerReport {
    /// The predictions, before the first run.
    pub(super) fn predictions(&self) -> String {
        let mut text = format!("{}, {} cores, {} build\n\n", self.machine.cpu, self.machine.cores, profile());
        text.push_str(&self.calibration);
        text.push_str(&format!("\n{:<18}{:>14}\n", "predicted first", "messages/s"));
        for row in &self.rows {
            text.push_str(&format!("{:<18}{:>14.1}\n", row.name, row.predicted_per_s));
        }
        text
    }

    pub(super) fn json(&self) -> String {
        // INVARIANT: texts and finite numbers.
        serde_json::to_string_pretty(self).expect("a report is JSON")
    }
}

impl PlannerRow {
    /// The prediction against the median of the runs: 0.05 is 5% too many. None before the first run.
    pub(super) fn error(&self) -> Option<f64> {
        Some(self.predicted_per_s / self.spread()?.median - 1.0)
    }

    /// The runs that count: runs that had the machine to themselves, or all runs if no run had.
    pub(super) fn counted(&self) -> Vec<f64> {
        let is_quiet = |run: &&PlannerRun| run.others.is_none_or(|others| others <= QUIET_CORES);
        let quiet: Vec<f64> = self.runs.iter().filter(is_quiet).map(|run| run.per_s).collect();
        if quiet.is_empty() { self.runs.iter().map(|run| run.per_s).collect() } else { quiet }
    }

    pub(super) fn spread(&self) -> Option<Spread> {
        Spread::of(self.counted())
    }

    /// Milliseconds on cores for each message: the median of all runs.
    pub(super) fn cpu_ms(&self) -> Option<f64> {
        Spread::of(self.runs.iter().filter_map(|run| run.cpu_ms)).map(|spread| spread.median)
    }

    /// Cores that others kept busy during the quietest run.
    pub(super) fn others(&self) -> Option<f64> {
        self.runs.iter().filter_map(|run| run.others).min_by(f64::total_cmp)
    }
}

/// The table: predicted, the median of the runs and their range, how far off.
impl fmt::Display for PlannerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.rows.first().map_or(0, |row| row.runs.len());
        let heads =
            ["then run", "predicted", "median", "range", "n", "others", "off", "cpu ms", "median", "off"];
        let [name, predicted, median, range, counted, others, off, cpu, cpu_median, cpu_off] = heads;
        write!(f, "\n{name:<18}{predicted:>10}{median:>10}{range:>19}{counted:>4}{others:>8}{off:>8}")?;
        writeln!(f, "{cpu:>10}{cpu_median:>9}{cpu_off:>8}")?;
        let mut worst = 0.0_f64;
        for row in &self.rows {
            let (Some(spread), Some(error)) = (row.spread(), row.error()) else { continue };
            worst = worst.max(error.abs());
            let cpu_ms = row.cpu_ms().unwrap_or(f64::NAN);
            let range = format!("{:.1}-{:.1}", spread.min, spread.max);
            writeln!(
                f,
                "{:<18}{:>10.1}{:>10.1}{range:>19}{:>4}{:>8.2}{:>+7.1}%{:>10.3}{:>9.3}{:>+7.1}%",
                row.name,
                row.predicted_per_s,
                spread.median,
                row.counted().len(),
                row.others().unwrap_or(f64::NAN),
                error * 100.0,
                row.predicted_cpu_ms,
                cpu_ms,
                (row.predicted_cpu_ms / cpu_ms - 1.0) * 100.0
            )?;
        }
        writeln!(
            f,
            "\n{runs} runs each; n are those during which others kept {QUIET_CORES} cores busy at most, or all if there are none; \
             others: in the quietest run. The worst prediction is {:.1}% off.",
            worst * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_median_and_the_worst() {
        let row = |name, runs: &[(f64, f64)]| PlannerRow {
            name,
            predicted_per_s: 105.0,
            predicted_cpu_ms: 2.2,
            runs: runs
                .iter()
                .map(|(per_s, others)| PlannerRun { per_s: *per_s, others: Some(*others), cpu_ms: Some(2.0) })
                .collect(),
        };
        let noisy = (10.0, 0.5);
        let rows = vec![
            row("one", &[(90.0, 0.0), (100.0, 0.01), noisy, (120.0, 0.02)]),
            row("two", &[(105.0, 1.0)]),
        ];
        let report = PlannerReport { machine: Machine::here(), calibration: String::new(), rows };
        let text = report.to_string();
        assert!(
            text.contains(
                "105.0     100.0         90.0-120.0   3    0.00   +5.0%     2.200    2.000  +10.0%"
            ),
            "{text}"
        );
        assert!(text.contains("105.0     105.0        105.0-105.0   1    1.00   +0.0%"), "{text}");
        assert!(text.ends_with("The worst prediction is 5.0% off.\n"), "{text}");
    }
}
