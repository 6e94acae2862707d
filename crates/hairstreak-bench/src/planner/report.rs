//! `PlannerReport`: predictions beside runs.

use std::fmt;

use serde::Serialize;

use crate::machine::{Machine, profile};

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
    /// Messages a second of each run.
    pub(super) measured_per_s: Vec<f64>,
}

impl PlannerReport {
    /// What stands before the first run.
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

/// The table: predicted, the median of the runs and their range, how far off.
impl fmt::Display for PlannerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.rows.first().map_or(0, |row| row.measured_per_s.len());
        writeln!(f, "\n{:<18}{:>12}{:>12}{:>24}{:>9}", "then run", "predicted", "median", "range", "off")?;
        let mut worst = 0.0_f64;
        for row in &self.rows {
            let (Some(spread), Some(error)) = (row.spread(), row.error()) else { continue };
            worst = worst.max(error.abs());
            let range = format!("{:.1}-{:.1}", spread.min, spread.max);
            writeln!(
                f,
                "{:<18}{:>12.1}{:>12.1}{range:>24}{:>+8.1}%",
                row.name,
                row.predicted_per_s,
                spread.median,
                error * 100.0
            )?;
        }
        writeln!(f, "\nn = {runs}; the worst prediction is {:.1}% off.", worst * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_median_and_the_worst() {
        let row = |name, measured_per_s: &[f64]| PlannerRow {
            name,
            predicted_per_s: 105.0,
            measured_per_s: measured_per_s.to_vec(),
        };
        let rows = vec![row("one", &[90.0, 100.0, 120.0]), row("two", &[105.0])];
        let report = PlannerReport { machine: Machine::here(), calibration: String::new(), rows };
        let text = report.to_string();
        assert!(text.contains("100.0              90.0-120.0    +5.0%"), "{text}");
        assert!(text.ends_with("n = 3; the worst prediction is 5.0% off.\n"), "{text}");
    }
}
