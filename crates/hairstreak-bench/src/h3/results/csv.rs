//! The samples as CSV: a row for each window of each run.
//!
//! ```text
//! transport,target,size,run,time,window,start_s,node_a,node_b,messages_per_s
//! tcp,across,8,1,wall,0,0.000000,5120,4096,4608000.0
//! ```
//!
//! `node_a` and `node_b` are messages of the window. With pandas:
//! `read_csv("h3.csv").groupby(["size", "transport", "target", "run"]).messages_per_s.describe()`.

use std::fmt::Write as _;

use super::report::Report;

const HEADER: &str = "transport,target,size,run,time,window,start_s,node_a,node_b,messages_per_s\n";
const MS_PER_S: f64 = 1e3;

/// All samples.
pub fn csv(report: &Report) -> String {
    let mut text = HEADER.to_owned();
    for record in &report.records {
        let [a, b] = &record.windows;
        for (index, (rate, (a, b))) in record.samples.iter().zip(a.iter().zip(b)).enumerate() {
            let start_s = index as f64 * record.window_ms / MS_PER_S;
            // Formatting into a string cannot fail.
            let _ = writeln!(
                text,
                "{},{},{},{},{},{index},{start_s:.6},{a},{b},{rate:.1}",
                record.transport.text(),
                record.target.text(),
                record.size,
                record.run,
                record.time.text()
            );
        }
    }
    text
}
