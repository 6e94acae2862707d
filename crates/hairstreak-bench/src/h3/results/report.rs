//! `Report`: everything that a benchmark has shown, as JSON and as CSV.

use std::fmt::Write as _;

use anyhow::Result;
use hairstreak_transport::vortex::FabricFacts;
use serde_json::{Map, Value as Json, json};

use super::figures::{differences, distinct, gains, nodes, whole};
use super::record::Record;
use crate::frame::{Row, Setting, Value, name};
use crate::h3::plan::{Plan, VORTEX_SCALE};

const CSV_HEADING: &str = "transport,target,size,run,time,window,start_s,node_a,node_b,messages_per_s\n";
const MS_PER_S: f64 = 1e3;

/// The report.
#[derive(Debug)]
pub struct Report {
    /// The controller's machine and build.
    pub setting: Setting,
    /// The plan of the runs.
    pub plan: Plan,
    /// The agents and their machines.
    pub agents: Vec<Row>,
    /// The simulated Data Vortex, if one was measured.
    pub fabric: Option<FabricFacts>,
    /// All runs.
    pub records: Vec<Record>,
}

impl Report {
    /// The records of a size.
    pub fn of_size(&self, size: usize) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.size == size)
    }

    /// The lengths of windows, in each time once.
    pub fn windows_of(&self, size: usize) -> String {
        let text = |record: &Record| format!("{} ms {}", record.window_ms, name(&record.time));
        distinct(self.of_size(size).map(text)).join(", ")
    }

    /// Table 1 as it was run.
    pub fn sizes(&self) -> Vec<Row> {
        let sizes = self.plan.rows.iter().map(|row| {
            let counts = || self.of_size(row.size).map(|record| record.count);
            let table = Row::default().show("size", "bytes", whole(row.size as u64));
            let table = table.show("paper_count", "paper's messages", whole(row.paper_count));
            let table =
                table.show("scale", "scale", Value::figure(row.scale, |scale| format!("{scale:.3e}")));
            let table = table.show("planned_count", "planned", whole(row.count));
            let table = table.show("runs", "runs", Value::count(row.runs));
            let table = table.show("count_min", "sent: least", whole(counts().min().unwrap_or(0)));
            let table = table.show("count_max", "sent: most", whole(counts().max().unwrap_or(0)));
            table.show("windows", "windows of", Value::text(self.windows_of(row.size)))
        });
        sizes.collect()
    }

    /// The report in JSON. Keys are an interface: programs read them.
    pub fn json(&self) -> Result<String> {
        let mut json: Map<String, Json> = serde_json::from_value(serde_json::to_value(&self.setting)?)?;
        let fabric = self.fabric.map(|FabricFacts { heights, angles, networks, slot_picoseconds, .. }| {
            let slot_ns = slot_picoseconds as f64 / 1e3;
            json!({"heights": heights, "angles": angles, "networks": networks, "slot_ns": slot_ns, "scale": VORTEX_SCALE})
        });
        let rows = |rows: &[Row]| -> Json { rows.iter().map(Row::json).collect() };
        let values = [
            ("benchmark", json!("h3")),
            ("scale", json!(self.plan.scale)),
            ("memory_bytes", json!(self.plan.memory_bytes)),
            ("agents", rows(&self.agents)),
            ("fabric", json!(fabric)),
            ("sizes", rows(&self.sizes())),
            ("records", json!(self.records)),
            ("gains", rows(&gains(&self.records))),
            ("differences", rows(&differences(&self.records))),
            ("nodes", rows(&nodes(&self.records))),
        ];
        json.extend(values.map(|(key, value)| (key.to_owned(), value)));
        Ok(serde_json::to_string_pretty(&json)?)
    }

    /// The samples as CSV: a row for each window of each run. `node_a` and `node_b` are messages of the window.
    ///
    /// With pandas: `read_csv("h3.csv").groupby(["size", "transport", "target", "run"]).messages_per_s.describe()`.
    pub fn csv(&self) -> String {
        let mut text = CSV_HEADING.to_owned();
        for Record { contender, size, run, time, window_ms, windows: [a, b], samples, .. } in &self.records {
            let (transport, target, time) = (name(&contender.transport), name(&contender.target), name(time));
            for (index, (rate, (a, b))) in samples.iter().zip(a.iter().zip(b)).enumerate() {
                let start_s = index as f64 * window_ms / MS_PER_S;
                // Formatting into a string cannot fail.
                let _ = write!(text, "{transport},{target},{size},{run},{time},{index},");
                let _ = writeln!(text, "{start_s:.6},{a},{b},{rate:.1}");
            }
        }
        text
    }
}
